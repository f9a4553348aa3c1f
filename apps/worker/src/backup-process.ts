// Makes backups in a process of their own: compression and encryption would stop the worker's jobs for minutes.
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import type { BackupResult, BackupSpace } from '@fairlead/core/backup';
import type { Log } from '@fairlead/core/kernel';
import { type Environment, freeBytesMin, type Schedule } from '@fairlead/settings';
import { z } from 'zod';

export interface BackupMaker extends BackupSpace {
  readonly schedule: Schedule | null;
  /** Makes one backup. The reason of a failure is part of the result. */
  make(stopping: AbortSignal): Promise<BackupResult>;
}

const answerSchema = z.union([
  z.object({ failure: z.string() }),
  z.object({ dataFile: z.string(), keysFile: z.string(), sizeBytes: z.number(), deleted: z.number() }),
]);

/** Returns null if no folder is set. */
export function createBackupMaker(env: Environment<'worker'>, log: Log): BackupMaker | null {
  const { FAIRLEAD_BACKUP_FOLDER: to, FAIRLEAD_BACKUP_SCRIPT: script, FAIRLEAD_DATA_DIR: dataDir } = env;
  if (to === undefined || script === undefined || dataDir === undefined) return null;
  const request = {
    dataDir,
    databaseUrl: env.DATABASE_URL,
    masterKeyFile: env.FAIRLEAD_MASTER_KEY_FILE,
    to,
    keep: env.FAIRLEAD_BACKUP_KEEP,
    recipient: env.FAIRLEAD_BACKUP_RECIPIENT,
  };
  return {
    schedule: env.FAIRLEAD_BACKUP_SCHEDULE ?? null,
    dataDir,
    freeBytesMin: freeBytesMin(env),
    make: (stopping) => runScript({ script, request, stopping, log }),
  };
}

interface ScriptRun {
  readonly script: string;
  readonly request: object;
  readonly stopping: AbortSignal;
  readonly log: Log;
}

export async function runScript({ script, request, stopping, log }: ScriptRun): Promise<BackupResult> {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', script], {
    env: {},
    stdio: ['pipe', 'pipe', 'pipe'],
    signal: stopping,
  });
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('close', (code, signal) => resolve(`code ${code}, signal ${signal}`));
  });
  // The end of the child is the error that counts.
  child.stdin.on('error', () => undefined);
  // The pipe stays open: its end tells the child that the worker is gone.
  child.stdin.write(`${JSON.stringify(request)}\n`);
  const [answer, complaint, end] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  if (stopping.aborted) {
    return { state: 'interrupted', failure: 'The worker was stopped before the backup was complete.' };
  }
  const parsed = answer === '' ? undefined : answerSchema.parse(JSON.parse(answer));
  if (parsed === undefined) {
    log.error({ end, complaint }, 'the process of a backup failed');
    return { state: 'failed', failure: 'The backup ended unexpectedly. The log of the worker says why.' };
  }
  if ('failure' in parsed) return { state: 'failed', failure: parsed.failure };
  const { deleted, ...result } = parsed;
  if (deleted > 0) log.info({ deleted }, 'older backups were deleted');
  return { state: 'succeeded', ...result };
}
