// Stage of the push check: PostgreSQL, web, worker and gateway as processes, a fake GitHub and a simulated agent.
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AppId } from '@fairlead/contract/ids';
import { createSecretKeys, openMasterKeyFile } from '@fairlead/core/secret';
import { type TestWorld, testWorld } from '@fairlead/core/testing';
import { createDatabase } from '@fairlead/db';
import { type EmbeddedServer, startEmbedded } from '@fairlead/db/embedded';
import { migrate } from '@fairlead/db/migrate';
import { freePort, migrationsDir } from '@fairlead/db/testing/cluster';
import { type Undo, undoAll } from '../../tools/lib/undo.ts';
import { createPushAgent } from './push-agent.ts';
import { connectGithub, githubSettings, type PushGithub } from './push-github.ts';
import { createProcesses, type ProcessName } from './push-processes.ts';

export type Victim = ProcessName | 'database';

export interface PushStage {
  readonly world: TestWorld;
  readonly github: PushGithub;
  /** URL of the webhook of the GitHub App. */
  readonly webhookUrl: string;
  /** App of each repository, by the repository's id. */
  readonly apps: ReadonlyMap<number, string>;
  /** SIGKILL, and a new start. */
  kill(victim: Victim): Promise<void>;
  /** Stops a process from running until the returned function is called. */
  pause(name: ProcessName): () => void;
  stop(): Promise<void>;
}

export interface PushStageOptions {
  readonly repositories: number;
  /** Time that a build takes. */
  readonly buildMs: number;
}

export async function startPushStage(options: PushStageOptions): Promise<PushStage> {
  const undo: Undo[] = [];
  try {
    return await assemble(options, undo);
  } catch (error) {
    await undoAll(undo);
    throw error;
  }
}

async function assemble({ repositories, buildMs }: PushStageOptions, undo: Undo[]): Promise<PushStage> {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-push-'));
  undo.push(async () => rmSync(folder, { recursive: true, force: true }));
  // PostgreSQL runs under another account if this process is root.
  chmodSync(folder, 0o711);
  const files = writeFiles(folder);
  const databasePort = await freePort();
  const startDatabase = () => startEmbedded({ dataDir: join(folder, 'postgres'), port: databasePort, log: () => {} });

  let server: EmbeddedServer = await startDatabase();
  undo.push(() => server.stop());
  await migrate({ url: server.url, dir: migrationsDir, log: () => {} });
  const database = createDatabase({
    url: server.url,
    poolMax: 4,
    applicationName: 'check',
    // The check restarts the database.
    onConnectionError: () => {},
  });
  undo.push(() => database.close());
  const keys = createSecretKeys(await openMasterKeyFile(files.FAIRLEAD_MASTER_KEY_FILE));
  const world = { ...(await testWorld(database, 'acme', { now: () => new Date(), forward: () => {} })), keys };

  const [gatewayPort, intakePort] = [await freePort(), await freePort()];
  const agent = createPushAgent({ url: `ws://127.0.0.1:${gatewayPort}`, serverId: world.serverId, buildMs });
  await world.system(({ tx }) => tx.server.updateMany({ data: { publicKey: agent.publicKey } }));
  const apps = new Map<number, AppId>();
  for (let repositoryId = 1; repositoryId <= repositories; repositoryId += 1)
    apps.set(repositoryId, (await world.createApp(`Shop ${repositoryId}`, { deployNow: false })).appId);
  const publicUrl = `http://127.0.0.1:${intakePort}`;
  const github = await connectGithub(world, { publicUrl, apps });
  undo.push(() => github.fake.close());

  const processes = createProcesses({
    ...process.env,
    ...githubSettings,
    ...files,
    DATABASE_URL: server.url,
    FAIRLEAD_PUBLIC_URL: publicUrl,
    FAIRLEAD_GATEWAY_HOST: '127.0.0.1',
    FAIRLEAD_GATEWAY_PORT: String(gatewayPort),
    INTAKE_PORT: String(intakePort),
    LOG_LEVEL: 'info',
  });
  undo.push(() => processes.stop());
  await processes.start();
  agent.start();
  undo.push(() => agent.stop());

  return {
    world,
    github,
    apps,
    webhookUrl: `${publicUrl}/api/webhook/${github.githubAppId}`,
    kill: async (victim) => {
      if (victim !== 'database') return processes.kill(victim);
      process.kill(server.pid, 'SIGKILL');
      await server.ended;
      server = await startDatabase();
    },
    pause: (name) => processes.pause(name),
    stop: () => undoAll(undo),
  };
}

/** Returns settings that name files and folders. */
function writeFiles(folder: string) {
  const secret = (name: string) => {
    const file = join(folder, name);
    writeFileSync(file, `${randomBytes(32).toString('base64url')}\n`, { mode: 0o600 });
    return file;
  };
  const made = (name: string) => {
    const path = join(folder, name);
    mkdirSync(path, { mode: 0o700 });
    return path;
  };
  return {
    FAIRLEAD_MASTER_KEY_FILE: secret('master-key'),
    FAIRLEAD_INTERNAL_TOKEN_FILE: secret('internal-token'),
    FAIRLEAD_SIGNING_KEY_DIR: made('signing-keys'),
    FAIRLEAD_LOG_STORE_DIR: made('logs'),
  };
}
