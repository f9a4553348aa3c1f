// Puts a job without attempts left into the queue, as a worker leaves it.
import { listFailedJobs } from '@fairlead/db';
import type { TestDatabase } from '@fairlead/db/testing/cluster';

/** Returns its id. */
export async function newFailedJob(db: TestDatabase): Promise<string> {
  await db.asOwner(`SELECT graphile_worker.add_job('app.purge', '{}', max_attempts => 1)`);
  await db.asOwner(
    `UPDATE graphile_worker._private_jobs SET attempts = 1, last_error = 'The disk is full.' WHERE attempts = 0`,
  );
  const [job] = await db.database.system('a test', (tx) => listFailedJobs(tx, 1));
  if (job === undefined) throw new Error('the queue has no failed job');
  return String(job.id);
}
