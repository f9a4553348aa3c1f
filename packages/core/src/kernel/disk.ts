// Free space of the disks that hold the data of the control plane, and the part of it that uploads and logs must leave.
import { stat, statfs } from 'node:fs/promises';

export interface DiskSpace {
  /** Folder on the disk. */
  readonly path: string;
  readonly freeBytes: number;
  readonly totalBytes: number;
}

/** Default of `limits.free_disk_mib`. */
export const freeDiskBytes = 2 * 1024 ** 3;
const smallDiskShare = 0.05;

export async function readDisk(path: string): Promise<DiskSpace> {
  const { bavail, blocks, bsize } = await statfs(path);
  return { path, freeBytes: bavail * bsize, totalBytes: blocks * bsize };
}

/** Returns each disk once, with the first of the folders that are on it. A folder that nothing was written to is left out. */
export async function readDisks(folders: readonly string[]): Promise<DiskSpace[]> {
  const disks = new Map<number, DiskSpace>();
  for (const path of folders) {
    const info = await stat(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return null;
      throw error;
    });
    if (info !== null && !disks.has(info.dev)) disks.set(info.dev, await readDisk(path));
  }
  return [...disks.values()];
}

/** Returns the bytes that stay free: the setting, but at most 5 % of a small disk. */
export function reserveOf({ totalBytes }: Pick<DiskSpace, 'totalBytes'>, freeBytesMin: number): number {
  return Math.min(freeBytesMin, Math.floor(totalBytes * smallDiskShare));
}

/** Returns what uploads and logs may still write; negative if the disk is short. */
export function roomOf(disk: DiskSpace, freeBytesMin: number): number {
  return disk.freeBytes - reserveOf(disk, freeBytesMin);
}
