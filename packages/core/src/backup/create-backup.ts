// Creates a backup in the state queued, with the job that makes it.
import { type BackupId, newId } from '@fairlead/contract/ids';
import { runBackupJob } from '@fairlead/contract/jobs';
import { enqueue } from '@fairlead/db';
import type { SystemCtx } from '../kernel/index.ts';

/** Time that a backup may wait for a free worker. */
const QUEUED_MAX_MS = 60 * 60_000;

export interface NewBackup {
  /** Time of the schedule; null if a person started it. */
  readonly slot: Date | null;
  readonly requestedByUserId: string | null;
}

/** Returns null if another backup is unfinished, or if the slot has one. */
export async function createBackup(ctx: SystemCtx, backup: NewBackup): Promise<BackupId | null> {
  const now = ctx.clock.now();
  const id = newId('bak');
  const leaseUntil = new Date(now.getTime() + QUEUED_MAX_MS);
  const data = { ...backup, id, createdAt: now, leaseUntil };
  const { count } = await ctx.tx.backup.createMany({ data, skipDuplicates: true });
  if (count === 0) return null;
  await enqueue(ctx.tx, runBackupJob, { backupId: id });
  return id;
}
