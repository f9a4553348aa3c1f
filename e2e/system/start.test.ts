// Tests of `npm start`: first start, second start with all data, start after the supervisor was killed, `--reset`, and
// messages of failed starts.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ROOT, run } from '../../tools/lib/command.ts';
import { ADA, claimSetup, signIn } from '../../tools/lib/dashboard-client.ts';
import { freePorts } from '../../tools/lib/free-ports.ts';
import { nodeOf } from '../../tools/lib/install.mjs';
import { pidsListeningOn } from '../../tools/lib/listeners.ts';
import { requestPinned } from '../../tools/lib/pinned-request.ts';
import { type ProductOptions, type RunningProduct, startProduct } from '../../tools/lib/running-product.ts';
import { waitFor } from '../../tools/lib/wait.ts';
import { CONTROL_HOST } from '../../tools/start/control-plane.ts';
import { PORTS } from '../../tools/start/options.mjs';
import { AGENT_BINARY } from './harness/assemble.ts';
import { requestPlain } from './harness/plain-request.ts';
import { pasteEnrolment } from './harness/second-server.ts';

interface ServerStates {
  readonly items: readonly { readonly name: string; readonly state: string }[];
}

let folder: string;
let options: ProductOptions;
let product: RunningProduct | undefined;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'fairlead-start-'));
  chmodSync(folder, 0o711);
  options = { data: join(folder, 'data'), ports: await freePorts(), agent: AGENT_BINARY };
});
afterAll(async () => {
  await product?.stop();
  rmSync(folder, { recursive: true });
});

async function expectAppLive({ ports, caFile }: RunningProduct): Promise<void> {
  const answer = await requestPinned({ host: 'hello.localhost', port: ports.https, path: '/', caFile });
  expect(answer.status).toBe(200);
  expect(answer.body).toContain('It runs.');
  const plain = await requestPlain({ host: 'hello.localhost', port: ports.http });
  expect([plain.status, plain.headers['strict-transport-security']]).toEqual([200, undefined]);
}

function expectNothingLeft({ ports }: RunningProduct): void {
  const left = Object.entries(ports).flatMap(([name, port]) => pidsListeningOn(port).map((pid) => `${name}: ${pid}`));
  expect(left).toEqual([]);
}

test('the first start deploys and measures the sample app, and its token makes an owner', async () => {
  product = await startProduct(options);
  expect(product.summary).toContain(`http://hello.localhost:${product.ports.http}`);
  expect(product.summary).toMatch(/deployed in \d+\.\d s, release 1 from commit [0-9a-f]{7} /);
  expect(product.summary).toMatch(/[\d,]+ requests\/s, p50 [\d.]+ ms, p99 [\d.]+ ms through the proxy/);
  expect(product.summary).toMatch(/requests\/s, .* the app directly/);
  await expectAppLive(product);

  if (product.setupToken === undefined) throw new Error('the summary names no token');
  expect(await claimSetup(product.url, product.setupToken, ADA)).toBe('my-organization');
  await expect(claimSetup(product.url, product.setupToken, { ...ADA, email: 'eve@example.com' })).rejects.toThrow(
    'setup.token_invalid',
  );
  const page = await (await signIn(product.url, ADA)).open('/my-organization');
  expect(page.status).toBe(200);
});

test('the built product stores, sniffs and resizes nothing, and names a refused or unreachable address', async () => {
  if (product === undefined) throw new Error('nothing runs');
  const { url } = product;
  const page = await (await fetch(`${url}/sign-in`)).text();
  const script = /\/_next\/static\/[^"']+\.js/.exec(page)?.[0];
  if (script === undefined) throw new Error('the page loads no script');
  for (const path of [script, '/icon.svg', '/sign-in']) {
    const response = await fetch(`${url}${path}`);
    expect([response.status, response.headers.get('x-content-type-options')], path).toEqual([200, 'nosniff']);
  }
  expect((await fetch(`${url}/_next/image?url=%2Finstall%2Fagent%2Flinux-x64&w=64&q=75`)).status).toBe(404);
  const answer = await fetch(`${url}/api/trpc/setup.status`);
  expect([answer.status, answer.headers.get('cache-control')]).toEqual([200, 'no-store']);
  // Next bundles the outbound client once for each route; the errors of every bundle must be recognized.
  const dashboard = await signIn(url, ADA);
  for (const [host, code] of [
    ['127.0.0.1', 'source.address_refused'],
    // No resolver knows a name below `.invalid` (RFC 6761).
    ['nowhere.invalid', 'source.unreachable'],
  ] as const) {
    const input = { repositoryUrl: `https://${host}/private.git` };
    await expect(dashboard.query('source.branches', 'my-organization', input)).rejects.toThrow(code);
  }
});

test('the proxy reaches dashboard and gateway by Unix sockets that only it may open', async () => {
  if (product === undefined) throw new Error('nothing runs');
  const { url, ports, caFile, data } = product;
  const sockets = join(data, 'agent/control');
  const statusOf = async (path: string) => {
    const { status } = await requestPinned({ host: CONTROL_HOST, port: ports.https, path, caFile });
    return status;
  };
  expect(statSync(sockets).mode & 0o777).toBe(0o710);
  expect([await statusOf('/sign-in'), await statusOf('/agent')]).toEqual([200, 426]);
  // A program that listens on their TCP ports instead never gets a request.
  for (const [name, path, open] of [
    ['web', '/sign-in', 200],
    ['gateway', '/agent', 426],
  ] as const) {
    const [socket, away] = [join(sockets, `${name}.sock`), join(sockets, 'away')];
    renameSync(socket, away);
    await waitFor(async () => (await statusOf(path)) === 502, { what: `${name} out of reach`, timeoutMs: 30_000 });
    renameSync(away, socket);
    await waitFor(async () => (await statusOf(path)) === open, { what: `${name} in reach`, timeoutMs: 30_000 });
  }
  expect((await fetch(`${url}/sign-in`)).status).toBe(200);
});

test('a second server joins once by the command of the dashboard', async () => {
  if (product === undefined) throw new Error('nothing runs');
  const dashboard = await signIn(product.url, ADA);
  const { command } = await dashboard.call<{ command: string }>('server.enrol', { name: 'edge' }, 'my-organization');
  const server = await pasteEnrolment(command, join(folder, 'edge'));
  try {
    const isOnline = async () => {
      const { items } = await dashboard.query<ServerStates>('server.list', 'my-organization');
      return items.some(({ name, state }) => name === 'edge' && state === 'online');
    };
    await waitFor(isOnline, { what: 'the second server in the dashboard', timeoutMs: 20_000 });
    await expect(pasteEnrolment(command, join(folder, 'again'))).rejects.toThrow('could not be enrolled');
  } finally {
    await server.stop();
  }
});

test('a second start on the same folder is refused while the first runs', async () => {
  for (const flags of [[], ['--reset', '--yes']]) {
    const { code, output } = await startAgain(flags);
    expect(code).toBe(1);
    expect(output).toMatch(/^fairlead: Fairlead already runs on .+\n$/);
  }
});

test('a clean stop leaves nothing running; the next start comes back with all data, also past broken lock files', async () => {
  await product?.stop();
  if (product !== undefined) expectNothingLeft(product);
  const { data = '' } = options;
  // As a power cut or a full disk leaves them.
  writeFileSync(join(data, 'run/processes.json'), '{"supervisor":');
  writeFileSync(join(data, 'postgres/owner'), 'garbage');
  writeFileSync(join(data, 'postgres/cluster/postmaster.pid'), '');
  product = await startProduct(options);
  expect(product.setupToken).toBeUndefined();
  await expectAppLive(product);
  expect((await (await signIn(product.url, ADA)).open('/my-organization/apps')).status).toBe(200);
});

test('after the supervisor was killed with SIGKILL the app stays up, and the next start takes everything over', async () => {
  if (product === undefined) throw new Error('nothing runs');
  const killed = product;
  killed.kill();
  await waitFor(() => !killed.isAlive(), { what: 'the end of the supervisor', timeoutMs: 5000 });
  await expectAppLive(killed);
  product = await startProduct(options);
  expect(product.summary).toContain('ended what an earlier start had left running');
  await expectAppLive(product);
  await product.stop();
  expectNothingLeft(product);
});

test('a taken port is reported in one line with the option that changes it', async () => {
  const { ports } = options;
  if (ports === undefined) throw new Error('no ports');
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(ports.gateway, '127.0.0.1', resolve));
  const { code, output } = await startAgain();
  server.close();
  expect(code).toBe(1);
  expect(output).toMatch(/^fairlead: port \d+ .+ is taken: .+ --gateway-port\n$/);
});

test('--reset deletes nothing without a yes, and never a database of one’s own', async () => {
  const { data = '' } = options;
  const kept = () =>
    ['fairlead.json', 'postgres/cluster/PG_VERSION', 'secrets/master-key'].every((file) =>
      existsSync(join(data, file)),
    );
  expect(await startAgain(['--reset'])).toMatchObject({
    code: 1,
    output: 'fairlead: --reset asks first and there is no terminal to answer on: add --yes\n',
  });
  for (const answer of ['no', '', 'y']) {
    const { code, output } = await startInTerminal(['--reset'], `${answer}\n`);
    expect(output).toContain(
      `This deletes all apps, deployments, metrics and accounts in ${data}. Type "yes" to continue: `,
    );
    expect([code, output]).toEqual([1, expect.stringMatching(/fairlead: nothing was deleted\s*$/)]);
  }
  const own = await startAgain(['--reset', '--yes'], { DATABASE_URL: 'postgresql://fairlead@127.0.0.1:1/fairlead' });
  expect([own.code, own.output]).toEqual([
    1,
    expect.stringMatching(/^fairlead: --reset deletes the embedded database only, and DATABASE_URL is set: .+\n$/),
  ]);
  expect(kept()).toBe(true);
});

test('--reset --yes deletes all data and nothing else, and starts as the first time', async () => {
  const { data = '' } = options;
  const [inside, beside] = [join(data, 'log-store/of-before'), join(folder, 'beside')];
  for (const file of [inside, beside]) writeFileSync(file, 'kept?');
  product = await startProduct({ ...options, args: [...flagsOf(options), '--reset', '--yes'] });
  expect([existsSync(inside), existsSync(beside)]).toEqual([false, true]);
  await expect(signIn(product.url, ADA)).rejects.toThrow();
  expect(product.setupToken).toBeDefined();
  await expectAppLive(product);
});

function startAgain(flags: readonly string[] = [], env: Readonly<Record<string, string>> = {}) {
  return run(nodeOf(ROOT), commandOf(flags), { env });
}

/** Starts in a terminal, into which the answer is typed. */
async function startInTerminal(flags: readonly string[], answer: string): Promise<{ code: number; output: string }> {
  const command = [nodeOf(ROOT), ...commandOf(flags)].join(' ');
  const child = spawn('script', ['--quiet', '--return', '--command', command, '/dev/null'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const closed = once(child, 'close');
  child.stdin.write(answer);
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  const [code] = await closed;
  child.stdin.end();
  return { code, output };
}

function commandOf(flags: readonly string[]): string[] {
  const { agent } = options;
  if (agent === undefined) throw new Error('no agent');
  return [join(ROOT, 'tools/start.mjs'), ...flagsOf(options), '--agent', agent, ...flags];
}

function flagsOf({ data, ports }: ProductOptions): string[] {
  if (data === undefined || ports === undefined) throw new Error('incomplete options');
  return ['--data', data, ...PORTS.flatMap(({ name, option }) => [`--${option}`, String(ports[name])])];
}
