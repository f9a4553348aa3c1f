// Enqueues jobs: a job is a row of the operation's own transaction and belongs to its scope, enforced by a SQL
// function (see the migration of the job queue). apps/worker runs the jobs.
import type { ScopedTx } from './scope.ts';

/** The shape of @fairlead/contract's job definitions, as much of it as enqueueing needs. */
export interface EnqueueableJob<Payload> {
  readonly name: string;
  readonly attemptsMax: number;
  readonly payload: { parse(value: unknown): Payload };
}

export interface EnqueueOptions {
  /** A waiting job of the same key (within the organization) is replaced instead of added to. */
  readonly key?: string;
  /** Keep the waiting job's time when replacing it. */
  readonly keepRunAt?: boolean;
  readonly runAt?: Date;
  readonly maxAttempts?: number;
  /** Jobs of one queue (within the organization) run one after another. */
  readonly queue?: string;
}

/** Adds a job that a worker sees when the transaction commits. Throws when the payload does not fit the definition. */
export async function enqueue<Payload>(
  tx: ScopedTx,
  job: EnqueueableJob<Payload>,
  payload: Payload,
  options: EnqueueOptions = {},
): Promise<void> {
  const parsed = JSON.stringify(job.payload.parse(payload));
  await tx.$queryRaw`SELECT guard.enqueue_job(
    identifier => ${job.name}::text,
    payload => ${parsed}::json,
    job_key => ${options.key ?? null}::text,
    run_at => ${options.runAt ?? null}::timestamptz,
    max_attempts => ${options.maxAttempts ?? job.attemptsMax}::int,
    queue_name => ${options.queue ?? null}::text,
    job_key_mode => ${options.keepRunAt === true ? 'preserve_run_at' : 'replace'}::text
  )`;
}
