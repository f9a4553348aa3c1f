// Guard of the control plane's disk: a backup first copies the database to it.
import { readDisk, roomOf, type SystemCtx } from '../kernel/index.ts';

export interface BackupSpace {
  readonly dataDir: string;
  /** Bytes that stay free. */
  readonly freeBytesMin: number;
}

/** Returns why a backup cannot be made now; null if it can. */
export async function findBackupObstacle(
  { tx }: SystemCtx,
  { dataDir, freeBytesMin }: BackupSpace,
): Promise<string | null> {
  const [row] = await tx.$queryRaw<{ bytes: number }[]>`
    SELECT pg_database_size(current_database())::float8 AS "bytes"`;
  const missing = (row?.bytes ?? 0) - roomOf(await readDisk(dataDir), freeBytesMin);
  if (missing <= 0) return null;
  const mebibytes = Math.ceil(missing / 1024 ** 2).toLocaleString('en');
  return `The disk of ${dataDir} has no room for a copy of the database: ${mebibytes} MiB are missing.`;
}
