// Jobs of backups.
import {
  type BackupFailure,
  type BackupResult,
  backupFailureMail,
  backupLeaseMs,
  claimBackup,
  endBackup,
  findBackupObstacle,
  sweepBackups,
  touchBackup,
} from '@fairlead/core/backup';
import type { SystemCtx } from '@fairlead/core/kernel';
import type { Handler, HandlerParts } from './handler.ts';

const renewalsPerLease = 4;

export const sweepBackupsHandler: Handler<'backup.sweep'> = async ({ database, clock, log, backups }) => {
  await database.system('backup.sweep', (tx) => sweepBackups({ tx, clock, log }, backups?.schedule ?? null));
};

export const runBackupHandler: Handler<'backup.run'> = async (parts, ref) => {
  const { database, clock, log } = parts;
  const inScope: InScope = (run) => database.system('backup.run', (tx) => run({ tx, clock, log }));
  if (!(await inScope((ctx) => claimBackup(ctx, ref)))) return;
  const renewal = setInterval(() => {
    inScope((ctx) => touchBackup(ctx, ref)).catch((error: unknown) => {
      log.warn({ err: error, ...ref }, 'the lease of a backup was not renewed');
    });
  }, backupLeaseMs / renewalsPerLease);
  const result = await make(parts, inScope).finally(() => clearInterval(renewal));
  const failure = await inScope((ctx) => endBackup(ctx, { ...ref, ...result }));
  if (result.state === 'succeeded') log.info({ ...ref, ...result }, 'a backup was made');
  else log.warn({ ...ref, ...result }, 'a backup was not made');
  if (failure !== null) await send(parts, failure);
};

type InScope = <T>(run: (ctx: SystemCtx) => Promise<T>) => Promise<T>;

async function make({ backups, stopping }: HandlerParts, inScope: InScope): Promise<BackupResult> {
  if (backups === null) return { state: 'failed', failure: 'backup.folder is no longer set.' };
  const failure = await inScope((ctx) => findBackupObstacle(ctx, backups));
  return failure === null ? backups.make(stopping) : { state: 'failed', failure };
}

/** A failed mail is not sent again: the overview of operators shows the same failure. */
async function send({ mailer, publicUrl, log }: HandlerParts, { failure, recipients }: BackupFailure): Promise<void> {
  if (mailer === null) return;
  for (const recipient of recipients) {
    await mailer
      .send(backupFailureMail({ ...recipient, failure, publicUrl }))
      .catch((error: unknown) => log.error({ err: error }, 'a mail about a failed backup was not sent'));
  }
}
