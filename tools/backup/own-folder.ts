// Takes a folder of the services' user for root, so that no link in it leads root elsewhere.
import { chownSync, existsSync, statSync } from 'node:fs';

/** Runs `work` while only root can change what is in the folder; its owner gets it back. The folder's parent must be root's. */
export async function withOwnFolder<T>(folder: string, work: () => Promise<T>): Promise<T> {
  const owner = existsSync(folder) ? statSync(folder) : undefined;
  if (process.getuid?.() !== 0 || owner === undefined || owner.uid === 0) return work();
  chownSync(folder, 0, 0);
  try {
    return await work();
  } finally {
    chownSync(folder, owner.uid, owner.gid);
  }
}
