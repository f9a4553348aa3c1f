// Measures the disks that hold the data of the control plane.
import { stat, statfs } from 'node:fs/promises';
import type { Disk } from './schema.ts';

/** Returns each disk once, with the first of the folders that are on it. */
export async function readDisks(folders: readonly string[]): Promise<Disk[]> {
  const disks = new Map<number, Disk>();
  for (const path of folders) {
    const { dev } = await stat(path);
    if (disks.has(dev)) continue;
    const { bavail, blocks, bsize } = await statfs(path);
    disks.set(dev, { path, freeBytes: bavail * bsize, totalBytes: blocks * bsize });
  }
  return [...disks.values()];
}
