// Tables of the job queue, which belong to graphile-worker and are migrated by it. Only its worker touches them.
import { runMigrations } from 'graphile-worker';

/** Brings the schema `graphile_worker` up to date. Safe to call at every start. */
export async function installQueue(url: string): Promise<void> {
  await runMigrations({ connectionString: url });
}
