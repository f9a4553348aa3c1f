// Database of a control plane, running or not, for the commands that work on all of it.
import { join } from 'node:path';
import { findRunning, startEmbedded } from '@fairlead/db/embedded';
import type { Given } from '@fairlead/settings';
import { ROOT } from '../lib/command.ts';
import { freePort } from '../lib/free-ports.ts';
import { closedFolder, type Folders } from '../start/folders.ts';

export interface Installation {
  readonly folders: Folders;
  readonly settings: Given;
}

/** Runs `work` on the external database, the running embedded one, or the embedded one started for this. */
export async function withDatabase<T>(
  { folders, settings }: Installation,
  work: (url: string) => Promise<T>,
): Promise<T> {
  const outside = settings.DATABASE_URL ?? (await findRunning(folders.postgres));
  if (outside) return work(outside);
  const isClosed = process.getuid?.() === 0 && closedFolder(join(ROOT, 'node_modules')) !== undefined;
  const server = await startEmbedded({
    dataDir: folders.postgres,
    port: await freePort(),
    log: () => undefined,
    ...(isClosed ? { binariesDir: join(folders.runtime, 'postgres') } : {}),
  });
  try {
    return await work(server.url);
  } finally {
    await server.stop();
  }
}
