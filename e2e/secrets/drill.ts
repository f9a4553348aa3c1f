// The life of planted secrets in a real control plane: PostgreSQL, gateway and worker as processes of their own, the API as
// it answers over HTTP, and an agent on the link. Everything that comes out anywhere is kept as a place to search.

import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fromBinary } from '@bufbuild/protobuf';
import { type ApiParts, answerRequest, createRateLimit, defaultCallLimits, organizationHeader } from '@fairlead/api';
import { createAuth } from '@fairlead/auth';
import { DesiredStateSchema, SecretBundleSchema, WorkState } from '@fairlead/contract/agent';
import { createFolderArtifactStore } from '@fairlead/core/artifact';
import { systemClock } from '@fairlead/core/kernel';
import { createFolderLogStore } from '@fairlead/core/log';
import { createSecretKeys, openMasterKeyFile } from '@fairlead/core/secret';
import { builtStatus, rolloutStatus, type TestWorld, testWorld } from '@fairlead/core/testing';
import { cloneDatabase, dumpTables, freePort, startTestCluster } from '@fairlead/db/testing/cluster';
import { createOutbound } from '@fairlead/outbound';
import { createFakeAgent, type OpenFakeLink } from '@fairlead/testkit';
import { Decrypter, generateIdentity, identityToRecipient } from 'age-encryption';
import { ROOT } from '../../tools/lib/command.ts';
import { nodeOf } from '../../tools/lib/install.mjs';
import type { Place, Planted } from './search.ts';

const origin = 'https://fairlead.example.test';
const password = 'the owner signs in with this';

export interface Drill {
  readonly planted: readonly Planted[];
  /** Of the organization and its database, so that a test can plant a leak. */
  readonly world: TestWorld;
  /** Everything that came out so far, read anew. */
  collect(): Promise<Place[]>;
  stop(): Promise<void>;
}

/** Values of the shapes that real ones have, and of those that escape badly. */
function plantedSecrets(): Planted[] {
  const random = () => randomBytes(18).toString('base64url');
  const shapes: (() => string)[] = [
    random,
    () => `postgres://shop:${random()}@db.internal:5432/shop?sslmode=require&x=1`,
    () => `-----BEGIN PRIVATE KEY-----\n${randomBytes(96).toString('base64')}\n-----END PRIVATE KEY-----\n`,
    () => `{"type":"service_account","key":"${random()}","note":"a \\"quoted\\" word"}`,
    () => `spaces and + % & = # ${random()}`,
    () => `naïve Schlüssel ✓ ${random()}`,
    () => `tab\tand\\backslash\\${random()}'"`,
    () => randomBytes(32).toString('hex'),
    () => randomBytes(30_000).toString('base64'),
  ];
  return Array.from({ length: 220 }, (_, index) => ({
    name: `PLANTED_${index}`,
    value: (shapes[index < 200 ? index % 8 : index % 9] ?? random)(),
  }));
}

export async function startDrill(note: (line: string) => void = () => {}): Promise<Drill> {
  const cleanUps: (() => Promise<unknown>)[] = [];
  const stop = async () => {
    for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
  };
  try {
    return await run(note, cleanUps, stop);
  } catch (error) {
    await stop();
    throw error;
  }
}

async function run(
  note: (line: string) => void,
  cleanUps: (() => Promise<unknown>)[],
  stop: () => Promise<void>,
): Promise<Drill> {
  const dir = await mkdtemp(join(tmpdir(), 'fairlead-secrets-'));
  cleanUps.push(() => rm(dir, { recursive: true, force: true }));
  const cluster = await startTestCluster();
  cleanUps.push(() => cluster.stop());
  const db = await cloneDatabase(cluster.templateUrl, { poolMax: 6 });
  cleanUps.push(() => db.drop());

  const masterKey = join(dir, 'master-key');
  await writeFile(masterKey, `${randomBytes(32).toString('base64url')}\n`, { mode: 0o600 });
  await writeFile(join(dir, 'internal-token'), randomBytes(32).toString('base64url'), { mode: 0o600 });
  await mkdir(join(dir, 'log-store'));
  const gatewayPort = await freePort();
  const processes = ['gateway', 'worker'].map((name) =>
    startProcess(name, {
      DATABASE_URL: db.url,
      LOG_LEVEL: 'debug',
      FAIRLEAD_MASTER_KEY_FILE: masterKey,
      FAIRLEAD_INTERNAL_TOKEN_FILE: join(dir, 'internal-token'),
      FAIRLEAD_SIGNING_KEY_DIR: join(dir, 'signing-keys'),
      FAIRLEAD_LOG_STORE_DIR: join(dir, 'log-store'),
      FAIRLEAD_GATEWAY_PORT: String(gatewayPort),
    }),
  );
  for (const each of processes) cleanUps.push(() => each.end());
  await Promise.all(processes.map((each) => each.ready));
  note('the control plane runs');

  const logged: object[] = [];
  const remember = (fields: object, message: string) => void logged.push({ ...fields, message });
  const log = { debug: remember, info: remember, warn: remember, error: remember };
  const world = await testWorld(db.database);
  const parts: ApiParts = {
    database: db.database,
    auth: createAuth({
      identity: db.database,
      secret: randomBytes(32).toString('hex'),
      baseUrl: origin,
      trustedOrigins: [origin],
      trustedProxies: [],
      mail: null,
      onFailure: (error) => remember({ error }, 'identity failed'),
    }),
    live: { subscribe: async function* () {}, searchLogs: async function* () {} },
    logs: createFolderLogStore(join(dir, 'log-store')),
    artifacts: createFolderArtifactStore(join(dir, 'artifacts')),
    outbound: createOutbound({ allowed: [] }),
    mail: null,
    secretKeys: createSecretKeys(await openMasterKeyFile(masterKey)),
    rateLimit: createRateLimit(defaultCallLimits),
    config: {
      publicUrl: origin,
      trustedProxies: [],
      localHttpsPort: 4443,
      controlHost: 'fairlead.localhost',
      publicHost: new URL(origin).hostname,
      agentDownload: () => Promise.reject(new Error('no agent is offered here')),
    },
    clock: systemClock,
    log,
  };
  const places: Place[] = [];
  const keep = (name: string, text: string | Uint8Array) =>
    places.push({ name, bytes: typeof text === 'string' ? Buffer.from(text, 'utf8') : text });
  const call = await signedInCaller(parts, world, keep);

  const identity = await generateIdentity();
  const agent = createFakeAgent({
    url: `ws://127.0.0.1:${gatewayPort}`,
    capabilities: ['app', 'benchmark', 'build', 'route', 'secret'],
    recipient: await identityToRecipient(identity),
  });
  await world.system(({ tx }) =>
    tx.server.update({ where: { id: world.serverId }, data: { publicKey: agent.publicKey } }),
  );
  const link = await agent.connect(world.serverId);
  cleanUps.push(() => link.close());

  const planted = plantedSecrets();
  await live({ call, world, link, planted, keep, identity, note });

  return {
    planted,
    world,
    collect: async () => [
      ...places,
      ...processes.map(({ name, output }) => ({ name: `log of the ${name}`, bytes: Buffer.concat(output()) })),
      { name: 'log of the API', bytes: Buffer.from(logged.map(describe).join('\n')) },
      ...(await dumpTables(db.url)).map(({ name, rows }) => ({
        name: `table ${name}`,
        bytes: Buffer.from(rows.join('\n')),
      })),
      ...(await filesOf(join(dir, 'log-store'), 'log store')),
      ...(await filesOf(cluster.dataDir, 'files of PostgreSQL')),
    ],
    stop,
  };
}

interface Stage {
  readonly call: Call;
  readonly world: TestWorld;
  readonly link: OpenFakeLink;
  readonly planted: readonly Planted[];
  readonly keep: (name: string, text: string | Uint8Array) => void;
  readonly identity: string;
  readonly note: (line: string) => void;
}

async function live({ call, world, link, planted, keep, identity, note }: Stage): Promise<void> {
  const created = await call('app.create', 'POST', {
    name: 'Shop',
    repositoryUrl: 'https://git.example.test/shop.git',
    serverId: world.serverId,
    deployNow: false,
  });
  const appId = String(created.id);
  const owner = { appId };
  const { groupId } = await call('secret.createGroup', 'POST', { name: 'shared' });
  await call('secret.attachGroup', 'POST', { groupId, appId });

  // Half of them a second time, as somebody who rotates; the last ones in a group.
  const items = planted.map(({ name, value }, index) => ({
    name,
    value,
    sealed: index % 2 === 0,
    delivery: index % 3 === 0 ? 'file' : 'environment',
  }));
  const own = items.slice(0, 180);
  await call('secret.update', 'POST', { owner, items: own.map((item) => ({ ...item, value: `older ${item.value}` })) });
  await call('secret.update', 'POST', { owner, items: own });
  await call('secret.update', 'POST', { owner, items: own });
  await call('secret.update', 'POST', { owner: { groupId }, items: items.slice(180) });

  note('secrets are set; now everything that goes wrong with them');
  const [first, open] = [planted[0], planted[1]];
  if (first === undefined || open === undefined) throw new Error('nothing is planted');
  const wrong = [
    { owner, items: [{ name: 'TOO_LONG', value: first.value.repeat(20_000).slice(0, 70_000) }] },
    { owner, items: [{ name: 'NUL', value: `${first.value}\0` }] },
    { owner, items: [{ name: first.value, value: 'a value in the place of the name' }] },
    { owner: { appId: first.value }, items: [{ name: 'A', value: first.value }] },
    { owner: { appId: 'app_00000000000000000000' }, items: [{ name: 'A', value: first.value }] },
    { owner, items: [{ name: 'PORT', value: first.value }] },
    { owner, items: [{ name: 'A', value: first.value, delivery: first.value }] },
    {
      owner,
      items: [
        { name: 'A', value: first.value },
        { name: 'A', value: open.value },
      ],
    },
  ];
  for (const input of wrong) await call('secret.update', 'POST', input, { fails: true });

  const listed = await call('secret.list', 'GET', { appId });
  const idOf = (name: string) => {
    const found = (listed.secrets as { id: string; name: string }[]).find((secret) => secret.name === name);
    if (found === undefined) throw new Error(`the list lacks ${name}`);
    return found.id;
  };
  await call('secret.reveal', 'POST', { secretId: idOf(first.name), number: 2 }, { fails: true });
  const revealed = await call('secret.reveal', 'POST', { secretId: idOf(open.name), number: 2 }, { isReveal: true });
  if (revealed.value !== open.value) throw new Error('a reveal did not answer the value');
  await call('secret.restore', 'POST', { secretId: idOf(open.name), number: 1 });
  await call('secret.restore', 'POST', { secretId: idOf(open.name), number: 2 });
  await call('secret.rotateKey', 'POST');

  note('a deployment, a restart with newer secrets, a rollback');
  const { deploymentId } = await call('deployment.create', 'POST', { appId });
  const building = await nextState(link, keep, (state) => state.builds.length > 0);
  if (building.builds[0]?.deploymentId !== deploymentId) throw new Error('the agent was told of another build');
  report(link, { builds: [builtStatus(String(deploymentId))] });
  await nextState(link, keep, (state) => state.apps.some(({ candidate }) => candidate !== undefined));
  report(link, { rollouts: [rolloutStatus(String(deploymentId), WorkState.SUCCEEDED)] });
  const running = await nextState(link, keep, (state) => state.apps.some(({ live: release }) => release !== undefined));
  await requireArrived(running, identity, planted);

  await call('secret.update', 'POST', { owner, items: [{ name: 'ONE_MORE', value: `and ${first.value}` }] });
  const again = await call('deployment.deploySecrets', 'POST', { appId });
  await nextState(link, keep, (state) =>
    state.apps.some(({ candidate }) => candidate?.deploymentId === again.deploymentId),
  );
  report(link, {
    rollouts: [rolloutStatus(String(again.deploymentId), WorkState.FAILED, { code: 'rollout.unhealthy', message: '' })],
  });
  await nextState(link, keep, (state) => state.apps.every(({ candidate }) => candidate === undefined));

  const secretId = idOf(first.name);
  const reads: [string, object][] = [
    ['secret.list', { appId }],
    ['secret.versions', { secretId }],
    ['secret.listGroups', {}],
    ['app.list', { limit: 10 }],
    ['app.get', { slug: 'shop' }],
    ['overview.get', {}],
    ['deployment.list', { limit: 10 }],
    ['deployment.get', { deploymentId }],
    ['deployment.get', { deploymentId: again.deploymentId }],
    ['deployment.log', { deploymentId }],
    ['release.list', { appId, limit: 10 }],
    ['server.list', {}],
    ['server.get', { serverId: world.serverId }],
    ['member.list', {}],
    ['domain.list', { limit: 10 }],
  ];
  for (const [path, input] of reads) await call(path, 'GET', input);
  await call('secret.delete', 'POST', { secretId });
  await call('app.delete', 'POST', { appId, confirmName: first.value }, { fails: true });
}

type Answer = Record<string, unknown>;
interface CallOptions {
  readonly fails?: boolean;
  readonly isReveal?: boolean;
}
type Call = (path: string, method: 'GET' | 'POST', input?: object, options?: CallOptions) => Promise<Answer>;

async function signedInCaller(
  parts: ApiParts,
  world: TestWorld,
  keep: (name: string, text: string) => void,
): Promise<Call> {
  const email = 'drill@example.test';
  const { userId } = await parts.auth.createAccount({ name: 'Drill', email, password });
  await world.system(({ tx }) =>
    tx.member.create({ data: { id: 'mem_drill', organizationId: world.organizationId, userId, role: 'owner' } }),
  );
  const signedIn = await parts.auth.handler(
    new Request(`${origin}/api/auth/sign-in/email`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin },
      body: JSON.stringify({ email, password }),
    }),
  );
  const cookie = signedIn.headers
    .getSetCookie()
    .map((line) => line.split(';')[0])
    .join('; ');
  let calls = 0;
  return async (path, method, input, { fails = false, isReveal = false } = {}) => {
    calls += 1;
    const json = JSON.stringify({ json: input ?? null });
    const query = method === 'GET' ? `?input=${encodeURIComponent(json)}` : '';
    const response = await answerRequest(
      parts,
      new Request(`${origin}/api/trpc/${path}${query}`, {
        method,
        headers: { cookie, origin, 'content-type': 'application/json', [organizationHeader]: world.organizationSlug },
        ...(method === 'POST' ? { body: json } : {}),
      }),
    );
    const text = await response.text();
    // The one answer that a value belongs in.
    if (!isReveal) keep(`answer ${calls} of ${path}`, `${JSON.stringify([...response.headers])}\n${text}`);
    if (response.ok === fails) throw new Error(`${path} ${fails ? 'did not fail' : `answered ${response.status}`}`);
    const body = JSON.parse(text) as { result?: { data?: { json?: Answer } } };
    return body.result?.data?.json ?? {};
  };
}

type DesiredState = ReturnType<typeof decodeState>;
function decodeState(bytes: Uint8Array) {
  return fromBinary(DesiredStateSchema, bytes);
}

/** Syncs until the state is as awaited; all that came on the way is kept. */
async function nextState(
  link: OpenFakeLink,
  keep: (name: string, bytes: Uint8Array) => void,
  isAwaited: (state: DesiredState) => boolean,
): Promise<DesiredState> {
  for (;;) {
    link.send({ case: 'sync', value: {} });
    const { state: bytes } = await link.next('state');
    const state = decodeState(bytes);
    keep(`desired state ${state.version?.number}`, bytes);
    if (isAwaited(state)) return state;
    await link.next('desired');
  }
}

let reportId = 0n;
function report(link: OpenFakeLink, part: object): void {
  reportId += 1n;
  link.send({ case: 'report', value: { reportId, ...part } });
}

/** The search proves nothing if the secrets never went anywhere. */
async function requireArrived(state: DesiredState, identity: string, planted: readonly Planted[]): Promise<void> {
  const sealed = state.apps[0]?.live?.secrets?.sealed;
  if (sealed === undefined) throw new Error('the live release came without its secrets');
  const decrypter = new Decrypter();
  decrypter.addIdentity(identity);
  const bundle = fromBinary(SecretBundleSchema, await decrypter.decrypt(sealed));
  const arrived = new Map(bundle.secrets.map(({ name, value }) => [name, Buffer.from(value).toString('utf8')]));
  const lost = planted.filter(({ name, value }) => arrived.get(name) !== value);
  if (lost.length > 0) throw new Error(`${lost.length} secrets did not arrive at the server`);
}

interface StartedProcess {
  readonly name: string;
  readonly ready: Promise<void>;
  output(): Buffer[];
  end(): Promise<void>;
}

function startProcess(name: string, env: Record<string, string>): StartedProcess {
  const child: ChildProcess = spawn(
    nodeOf(ROOT),
    ['--disable-warning=ExperimentalWarning', join(ROOT, `apps/${name}/src/main.ts`)],
    {
      cwd: ROOT,
      env: { PATH: process.env.PATH ?? '', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  const chunks: Buffer[] = [];
  const ready = Promise.withResolvers<void>();
  const hear = (chunk: Buffer) => {
    chunks.push(chunk);
    if (Buffer.concat(chunks).includes('"msg":"ready"')) ready.resolve();
  };
  child.stdout?.on('data', hear);
  child.stderr?.on('data', hear);
  child.once('exit', (code) => ready.reject(new Error(`the ${name} ended with ${code}: ${Buffer.concat(chunks)}`)));
  return {
    name,
    ready: ready.promise,
    output: () => chunks,
    end: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, 'exit');
      child.kill('SIGTERM');
      await exited;
    },
  };
}

async function filesOf(root: string, label: string): Promise<Place[]> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  const places: Place[] = [];
  for (const entry of entries.filter((each) => each.isFile())) {
    const path = join(entry.parentPath, entry.name);
    const bytes = await readFile(path).catch((error: NodeJS.ErrnoException) => {
      // A running PostgreSQL removes files of its own.
      if (error.code === 'ENOENT') return null;
      throw error;
    });
    if (bytes !== null) places.push({ name: `${label}: ${path.slice(root.length + 1)}`, bytes });
  }
  return places;
}

/** As the process's log would write it: errors with message, stack and causes. */
function describe(fields: object): string {
  return JSON.stringify(fields, (_, value: unknown) => {
    if (value instanceof Error) return { ...value, message: value.message, stack: value.stack, cause: value.cause };
    return typeof value === 'bigint' ? String(value) : value;
  });
}
