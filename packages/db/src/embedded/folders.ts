// Checks if an account can reach a path: each folder above it must let that account pass. Read-only: it never
// changes a mode.
import { stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { ServerAccount } from './account.ts';
import { EmbeddedError } from './error.ts';

/** The topmost folder on the way to `path` that `account` may not enter; null when the way is free. */
export async function findClosedFolder(path: string, account: ServerAccount): Promise<string | null> {
  const folders: string[] = [];
  for (let folder = resolve(path); ; folder = dirname(folder)) {
    folders.unshift(folder);
    if (folder === dirname(folder)) break;
  }
  for (const folder of folders) {
    const info = await stat(folder).catch((error: NodeJS.ErrnoException) => {
      // We create missing folders ourselves, with the right mode.
      if (error.code === 'ENOENT') return null;
      throw error;
    });
    if (info === null) return null;
    const enterable = info.uid === account.uid ? 0o100 : info.gid === account.gid ? 0o010 : 0o001;
    if (info.isDirectory() && (info.mode & enterable) === 0) return folder;
  }
  return null;
}

export async function requireOpenFolders(path: string, account: ServerAccount): Promise<void> {
  const folder = await findClosedFolder(path, account);
  if (folder === null) return;
  throw new EmbeddedError(
    'folder_closed',
    `The database runs as the user "${account.name}", which may not enter ${folder}. ` +
      `Choose a data folder elsewhere, for example under /var/lib or /srv.`,
    folder,
  );
}
