// Selects the database to seed: DATABASE_URL, or the embedded one of this clone, running or started for the seed.
import { join } from 'node:path';
import { findRunning, startEmbedded } from '@fairlead/db/embedded';
import { chooseFolders, closedFolder, openData } from '../../tools/start/folders.ts';

export interface SeedDatabase {
  readonly url: string;
  /** Folder of the control plane's build logs; null if unknown. */
  readonly logStoreDir: string | null;
  close(): Promise<void>;
}

export interface SeedDatabaseWish {
  readonly root: string;
  readonly data: string | undefined;
  readonly env: NodeJS.ProcessEnv;
}

const databasePort = 24432;

export async function openSeedDatabase({ root, data, env }: SeedDatabaseWish): Promise<SeedDatabase> {
  if (env.DATABASE_URL) {
    return { url: env.DATABASE_URL, logStoreDir: env.FAIRLEAD_LOG_STORE_DIR ?? null, close: async () => {} };
  }
  const isRoot = process.getuid?.() === 0;
  const folders = chooseFolders({ root, data, isRoot });
  const running = await findRunning(folders.postgres);
  if (running !== null) return { url: running, logStoreDir: folders.logStore, close: async () => {} };
  openData(folders);
  const isClosed = isRoot && closedFolder(join(root, 'node_modules')) !== undefined;
  const server = await startEmbedded({
    dataDir: folders.postgres,
    port: databasePort,
    log: () => {},
    ...(isClosed ? { binariesDir: join(folders.runtime, 'postgres') } : {}),
  });
  return { url: server.url, logStoreDir: folders.logStore, close: () => server.stop() };
}
