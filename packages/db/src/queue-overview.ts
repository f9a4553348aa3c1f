// Reads the job queue and retries failed jobs, by SQL functions of the system scope. Returns no payload, because it names
// rows of organizations.
import type { SystemTx } from './scope.ts';

/** Jobs of one name. A job is failed when no attempt is left. */
export interface JobCount {
  readonly name: string;
  readonly waiting: number;
  readonly running: number;
  readonly failed: number;
  /** Time since which the oldest job could have run; null when none waits. */
  readonly oldestWaiting: Date | null;
}

export interface FailedJob {
  readonly id: bigint;
  readonly name: string;
  readonly attempts: number;
  readonly error: string | null;
  readonly failedAt: Date;
}

export function countJobs(tx: SystemTx): Promise<JobCount[]> {
  return tx.$queryRaw`
    SELECT name, waiting, running, failed, oldest_waiting AS "oldestWaiting" FROM guard.count_jobs()`;
}

/** Newest first. */
export function listFailedJobs(tx: SystemTx, limit: number): Promise<FailedJob[]> {
  return tx.$queryRaw`
    SELECT id, name, attempts, error, failed_at AS "failedAt" FROM guard.failed_jobs(${limit}::int)`;
}

/** Returns the name of the job, which runs again from its first attempt; null if it is not failed. */
export async function retryFailedJob(tx: SystemTx, id: bigint): Promise<string | null> {
  const [row] = await tx.$queryRaw<{ name: string | null }[]>`SELECT guard.retry_job(${id}::bigint) AS name`;
  return row?.name ?? null;
}
