// Lock of a named piece of work across all processes of a control plane. The database releases it when the session of its
// holder ends, also if the holder was killed.
import pg from 'pg';
import { sessionSettings } from './connections.ts';

export const busy = Symbol('another session holds the lock');

/** Runs `work` under the lock. Returns `busy` at once if another session holds it; throws if the session was lost. */
export async function withLock<T>(url: string, name: string, work: () => Promise<T>): Promise<T | typeof busy> {
  const client = new pg.Client({ connectionString: url, application_name: 'fairlead-lock', options: sessionSettings });
  // The query after the work fails then.
  client.on('error', () => undefined);
  await client.connect();
  try {
    await client.query('SET idle_session_timeout = 0');
    const { rows } = await client.query<{ held: boolean }>(
      'SELECT pg_try_advisory_lock(hashtextextended($1, 0)) AS held',
      [`fairlead.${name}`],
    );
    if (rows[0]?.held !== true) return busy;
    const result = await work();
    await client.query('SELECT').catch((cause: unknown) => {
      throw new Error('the database ended the session that held the lock', { cause });
    });
    return result;
  } finally {
    await client.end();
  }
}
