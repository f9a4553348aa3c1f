// Ends backups that lost their worker, and starts the one that is due.
import type { Schedule } from '@fairlead/settings';
import type { SystemCtx } from '../kernel/index.ts';
import { createBackup } from './create-backup.ts';
import { lastSlot } from './slots.ts';

/** A backup that crashes its worker must not be repeated for ever. */
const INTERRUPTIONS_MAX = 3;

/**
 * Each time of the schedule gets one backup, and an interrupted one is made again. After several missed times, only the
 * latest gets its backup.
 */
export async function sweepBackups(ctx: SystemCtx, schedule: Schedule | null): Promise<void> {
  const { tx, clock, log } = ctx;
  const now = clock.now();
  const { count } = await tx.backup.updateMany({
    where: { state: { in: ['queued', 'running'] }, leaseUntil: { lt: now } },
    data: { state: 'interrupted', finishedAt: now, failure: 'The worker ended before the backup was complete.' },
  });
  if (count > 0) log.warn({}, 'a backup lost its worker');
  if (schedule === null) return;
  const slot = lastSlot(schedule, now);
  const ofSlot = await tx.backup.findMany({ where: { slot }, select: { state: true } });
  if (ofSlot.some(({ state }) => state !== 'interrupted') || ofSlot.length >= INTERRUPTIONS_MAX) return;
  const id = await createBackup(ctx, { slot, requestedByUserId: null });
  if (id !== null) log.info({ backupId: id, slot }, 'started a scheduled backup');
}
