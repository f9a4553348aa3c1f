// The job queue's tables are graphile-worker's own and are migrated by it. Nobody but its worker touches them.
import { runMigrations } from 'graphile-worker';

/** Brings the schema `graphile_worker` up to date. Safe to call at every start. */
export async function installQueue(url: string): Promise<void> {
  await runMigrations({ connectionString: url });
}
