// Jobs of backups.
import {
  backupLeaseMs,
  claimBackup,
  endBackup,
  findBackupObstacle,
  sweepBackups,
  touchBackup,
} from '@fairlead/core/backup';
import type { SystemCtx } from '@fairlead/core/kernel';
import type { Handler } from './handler.ts';

const renewalsPerLease = 4;

export const sweepBackupsHandler: Handler<'backup.sweep'> = async ({ database, clock, log, backups }) => {
  await database.system('backup.sweep', (tx) => sweepBackups({ tx, clock, log }, backups?.schedule ?? null));
};

export const runBackupHandler: Handler<'backup.run'> = async (parts, ref) => {
  const { database, clock, log, backups, stopping } = parts;
  const inScope = <T>(run: (ctx: SystemCtx) => Promise<T>) =>
    database.system('backup.run', (tx) => run({ tx, clock, log }));
  if (!(await inScope((ctx) => claimBackup(ctx, ref)))) return;
  if (backups === null) {
    const failure = 'backup.folder is no longer set.';
    return inScope((ctx) => endBackup(ctx, { ...ref, state: 'failed', failure }));
  }
  const obstacle = await inScope((ctx) => findBackupObstacle(ctx, backups));
  if (obstacle !== null) return inScope((ctx) => endBackup(ctx, { ...ref, state: 'failed', failure: obstacle }));
  const renewal = setInterval(() => {
    inScope((ctx) => touchBackup(ctx, ref)).catch((error: unknown) => {
      log.warn({ err: error, ...ref }, 'the lease of a backup was not renewed');
    });
  }, backupLeaseMs / renewalsPerLease);
  const result = await backups.make(stopping).finally(() => clearInterval(renewal));
  await inScope((ctx) => endBackup(ctx, { ...ref, ...result }));
  if (result.state === 'succeeded') log.info({ ...ref, ...result }, 'a backup was made');
  else log.warn({ ...ref, ...result }, 'a backup was not made');
};
