// Reads every row of a database, past all policies, for checks that some data is absent. Tests only.
import pg from 'pg';
import { systemRole } from './scope.ts';

export interface TableRows {
  readonly name: string;
  /** Each row as PostgreSQL writes it; bytes are hexadecimal. */
  readonly rows: readonly string[];
}

export async function readAllTables(url: string): Promise<TableRows[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const tables = await client.query<{ name: string; isForced: boolean }>(
      `SELECT format('%I.%I', nspname, relname) AS name, relforcerowsecurity AS "isForced"
       FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
       WHERE relkind IN ('r', 'p') AND NOT relispartition AND nspname NOT LIKE 'pg\\_%' AND nspname <> 'information_schema' ORDER BY 1`,
    );
    const found: TableRows[] = [];
    for (const { name, isForced } of tables.rows) {
      await client.query('BEGIN');
      // The owner sees no row under forced row-level security, and the system role has no grants for the queue.
      if (isForced) {
        await client.query(`SELECT set_config('role', $1, true), set_config('fairlead.system_reason', 'dump', true)`, [
          systemRole,
        ]);
      }
      const { rows } = await client.query<{ row: string }>(`SELECT dumped::text AS row FROM ${name} AS dumped`);
      await client.query('COMMIT');
      found.push({ name, rows: rows.map(({ row }) => row) });
    }
    return found;
  } finally {
    await client.end();
  }
}
