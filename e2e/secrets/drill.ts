// Secrets drill in a real control plane: PostgreSQL, gateway and worker as processes, the API over HTTP, and an agent
// on the link. Collects every output for the search.

import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ApiParts, createOpenStreams, createRateLimit, defaultCallLimits } from '@fairlead/api';
import { createAuth, createSignedCookies } from '@fairlead/auth';
import { createFolderArtifactStore } from '@fairlead/core/artifact';
import { defaultBuildSlots } from '@fairlead/core/deployment';
import { systemClock } from '@fairlead/core/kernel';
import { createFolderLogStore } from '@fairlead/core/log';
import { createSecretKeys, openMasterKeyFile } from '@fairlead/core/secret';
import { type TestWorld, testWorld } from '@fairlead/core/testing';
import { cloneDatabase, freePort, readAllTables, startTestCluster } from '@fairlead/db/testing/cluster';
import { createGithub } from '@fairlead/github';
import { createOutbound } from '@fairlead/outbound';
import { createFakeAgent } from '@fairlead/testkit';
import { generateIdentity, identityToRecipient } from 'age-encryption';
import { origin, signedInCaller } from './caller.ts';
import { filesOf } from './files.ts';
import { runLifecycle } from './lifecycle.ts';
import { plantedSecrets } from './planted.ts';
import type { Haystack, Planted } from './search.ts';
import { startService } from './service.ts';

export interface Drill {
  readonly planted: readonly Planted[];
  /** Organization and its database, so that a test can plant a leak. */
  readonly world: TestWorld;
  /** Returns every output so far, read anew. */
  collect(): Promise<Haystack[]>;
  stop(): Promise<void>;
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
  const services = ['gateway', 'worker'].map((name) =>
    startService(name, {
      DATABASE_URL: db.url,
      LOG_LEVEL: 'debug',
      FAIRLEAD_MASTER_KEY_FILE: masterKey,
      FAIRLEAD_INTERNAL_TOKEN_FILE: join(dir, 'internal-token'),
      FAIRLEAD_SIGNING_KEY_DIR: join(dir, 'signing-keys'),
      FAIRLEAD_LOG_STORE_DIR: join(dir, 'log-store'),
      FAIRLEAD_GATEWAY_PORT: String(gatewayPort),
    }),
  );
  for (const each of services) cleanUps.push(() => each.end());
  await Promise.all(services.map((each) => each.ready));
  note('the control plane runs');

  const logged: object[] = [];
  const remember = (fields: object, message: string) => void logged.push({ ...fields, message });
  const log = { debug: remember, info: remember, warn: remember, error: remember };
  const world = await testWorld(db.database);
  const secret = randomBytes(32).toString('hex');
  const parts: ApiParts = {
    database: db.database,
    auth: createAuth({
      identity: db.database,
      secret,
      baseUrl: origin,
      trustedOrigins: [origin],
      trustedProxies: [],
      github: null,
      mail: null,
      onFailure: (error) => remember({ error }, 'identity failed'),
    }),
    live: {
      subscribe: async function* () {},
      searchLogs: async function* () {},
      inspect: () => Promise.reject(new Error('no server inspects in a drill')),
    },
    streams: createOpenStreams({ database: db.database, log }),
    logs: createFolderLogStore(join(dir, 'log-store')),
    artifacts: createFolderArtifactStore(join(dir, 'artifacts')),
    outbound: createOutbound({ allowed: [] }),
    github: createGithub({ outbound: createOutbound({ allowed: [] }), now: () => new Date() }),
    dns: { change: () => Promise.resolve(null), isShown: () => Promise.resolve(true) },
    mail: null,
    secretKeys: createSecretKeys(await openMasterKeyFile(masterKey)),
    rateLimit: createRateLimit({
      limits: defaultCallLimits,
      database: db.database,
      secret,
      cookies: createSignedCookies({ secret, baseUrl: origin }),
    }),
    config: {
      publicUrl: origin,
      origins: [origin],
      trustedProxies: [],
      localHttpsPort: 4443,
      localHttpPort: 4480,
      buildSlots: defaultBuildSlots,
      controlHost: 'fairlead.localhost',
      acmeDirectoryUrl: '',
      publicHost: new URL(origin).hostname,
      controlPlane: {
        addresses: { publicUrl: origin, agentUrl: origin, webListen: '', gatewayListen: '', trustedProxies: [] },
        mail: null,
        version: '',
        backups: { folder: null, schedule: null, keep: 14 },
        updates: { current: '', feed: null, readFeedFile: null, publicKeys: [], updaterFolder: null },
        freeBytesMin: 0,
        folders: [dir],
      },
      dashboard: { reach: 'local', settingsUrl: origin, httpsPort: 4443 },
      agentOffers: { list: async () => [], read: async function* () {} },
      packTemplate: async function* () {},
      agentDownload: () => Promise.reject(new Error('no agent is offered here')),
    },
    clock: systemClock,
    log,
  };
  const places: Haystack[] = [];
  const keep = (name: string, text: string | Uint8Array) =>
    places.push({ name, bytes: typeof text === 'string' ? Buffer.from(text, 'utf8') : text });
  const call = await signedInCaller(parts, world, keep);

  const identity = await generateIdentity();
  const agent = createFakeAgent({
    url: `ws://127.0.0.1:${gatewayPort}`,
    capabilities: ['app', 'benchmark', 'build', 'build.default_branch', 'route', 'secret'],
    recipient: await identityToRecipient(identity),
  });
  await world.system(({ tx }) =>
    tx.server.update({ where: { id: world.serverId }, data: { publicKey: agent.publicKey } }),
  );
  const link = await agent.connect(world.serverId);
  cleanUps.push(() => link.close());

  const planted = plantedSecrets();
  await runLifecycle({ call, world, link, planted, keep, identity, note });

  return {
    planted,
    world,
    collect: async () => [
      ...places,
      ...services.map(({ name, output }) => ({ name: `log of the ${name}`, bytes: Buffer.concat(output()) })),
      { name: 'log of the API', bytes: Buffer.from(logged.map(describe).join('\n')) },
      ...(await readAllTables(db.url)).map(({ name, rows }) => ({
        name: `table ${name}`,
        bytes: Buffer.from(rows.join('\n')),
      })),
      ...(await filesOf(join(dir, 'log-store'), 'log store')),
      ...(await filesOf(cluster.dataDir, 'files of PostgreSQL')),
    ],
    stop,
  };
}

/** Formats an error as the process's log does: with message, stack and causes. */
function describe(fields: object): string {
  return JSON.stringify(fields, (_, value: unknown) => {
    if (value instanceof Error) return { ...value, message: value.message, stack: value.stack, cause: value.cause };
    return typeof value === 'bigint' ? String(value) : value;
  });
}
