// Lists backups, and the problems of scheduled ones.
import { parseId } from '@fairlead/contract/ids';
import type { Schedule } from '@fairlead/settings';
import type { SystemCtx } from '../kernel/index.ts';
import { type Backup, type Backups, type BackupWarning, backupStateSchema } from './schema.ts';
import { nextSlot } from './slots.ts';

const SHOWN = 5;
/** Scheduled times that may pass without a backup before it is overdue. */
const SLOTS_MAX = 2;

/** Facts of the settings. */
export interface BackupFacts {
  readonly folder: string | null;
  readonly schedule: Schedule | null;
  readonly keep: number;
}

type Row = Awaited<ReturnType<SystemCtx['tx']['backup']['findFirstOrThrow']>>;

export async function listBackups(ctx: SystemCtx, { folder, schedule, keep }: BackupFacts): Promise<Backups> {
  const newestFirst = { createdAt: 'desc' } as const;
  const latest = await ctx.tx.backup.findMany({ orderBy: newestFirst, take: SHOWN });
  const succeeded = await ctx.tx.backup.findFirst({ where: { state: 'succeeded' }, orderBy: newestFirst });
  return {
    folder,
    keep,
    next: schedule === null ? null : nextSlot(schedule, ctx.clock.now()),
    latest: latest.map(toBackup),
    lastSucceeded: succeeded === null ? null : toBackup(succeeded),
  };
}

/** Returns at most one warning. Without a schedule there is none, because no backup is due. */
export async function listBackupWarnings(
  ctx: SystemCtx,
  facts: Pick<BackupFacts, 'folder' | 'schedule' | 'keep'>,
): Promise<BackupWarning[]> {
  const { schedule } = facts;
  if (schedule === null) return [];
  const { latest, lastSucceeded } = await listBackups(ctx, facts);
  const last = latest.find(({ finishedAt }) => finishedAt !== null);
  if (last !== undefined && last.state !== 'succeeded') {
    return [
      {
        kind: 'backup_failed',
        title: 'The last backup of the control plane failed',
        detail: last.failure ?? 'It gave no reason.',
      },
    ];
  }
  const dueMs = (lastSucceeded ?? last)?.createdAt.getTime();
  if (dueMs === undefined || ctx.clock.now().getTime() <= dueMs + SLOTS_MAX * schedule.periodMs) return [];
  return [
    {
      kind: 'backup_overdue',
      title: 'The control plane has no recent backup',
      detail: 'Two scheduled times have passed without one. Check that the worker runs, in its log.',
    },
  ];
}

function toBackup({ id, slot, state, sizeBytes, ...row }: Row): Backup {
  return {
    id: parseId('bak', id),
    isScheduled: slot !== null,
    state: backupStateSchema.parse(state),
    createdAt: row.createdAt,
    finishedAt: row.finishedAt,
    dataFile: row.dataFile,
    keysFile: row.keysFile,
    sizeBytes: sizeBytes === null ? null : Number(sizeBytes),
    failure: row.failure,
  };
}
