// Dumps and restores every row of the control plane as PostgreSQL's own binary copies, for backups only: a dump holds
// every organization's rows. The job queue is left out, because the worker's sweeps resume unfinished work.
import type { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import pg from 'pg';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';
import { sessionSettings } from './connections.ts';
import { systemRole } from './scope.ts';
import { identityTables } from './tables.ts';

/** Metadata of a dump. It holds no row. */
export interface DumpManifest {
  /** Names of the migrations that made the tables, in order. */
  readonly migrations: readonly string[];
  /** In an order in which no row comes before one that it points to. */
  readonly tables: readonly DumpedTable[];
  /** The oldest sample, as ISO 8601; null when there is none. */
  readonly samplesFrom: string | null;
}

export interface DumpedTable {
  /** `schema.table`. */
  readonly name: string;
  readonly columns: readonly string[];
}

/** Writes each table to `open(name)`, all as of one moment. The product may go on working. */
export async function dumpTables(url: string, open: (table: string) => Writable): Promise<DumpManifest> {
  return inTransaction(url, 'REPEATABLE READ READ ONLY', async (client) => {
    const tables = await listTables(client);
    for (const { name, columns } of tables) {
      await enterScope(client, name);
      const stream = client.query(
        copyTo(`COPY (SELECT ${listOf(columns)} FROM ${quoted(name)}) TO STDOUT (FORMAT binary)`),
      );
      await pipeline(stream, open(name));
    }
    await enterScope(client, 'metric.app_1s');
    const sampled = tables.filter(({ name, columns }) => name.startsWith('metric.') && columns.includes('at'));
    const times: number[] = [];
    for (const { name } of sampled) {
      const { rows } = await client.query<{ at: Date | null }>(`SELECT min(at) AS at FROM ${quoted(name)}`);
      times.push(...rows.flatMap(({ at }) => at?.getTime() ?? []));
    }
    await client.query(`SELECT set_config('role', 'none', true)`);
    const applied = await client.query<{ name: string }>(
      'SELECT migration_name AS name FROM _prisma_migrations WHERE finished_at IS NOT NULL ORDER BY migration_name',
    );
    return {
      migrations: applied.rows.map(({ name }) => name),
      tables,
      samplesFrom: times.length === 0 ? null : new Date(Math.min(...times)).toISOString(),
    };
  });
}

/**
 * Loads a dump into a database that was migrated as far as the dump's was and holds no row yet; all of it or nothing.
 * Throws when a table holds rows already.
 */
export async function restoreTables(
  url: string,
  manifest: DumpManifest,
  open: (table: string) => Readable,
): Promise<void> {
  await inTransaction(url, 'READ COMMITTED', async (client) => {
    const present = await listTables(client);
    const known = new Set(present.map(({ name }) => name));
    for (const { name } of manifest.tables) {
      if (!known.has(name)) throw new Error(`the backup holds the table ${name}, which this database lacks`);
    }
    if (manifest.samplesFrom !== null) {
      await enterScope(client, 'metric.app_1s');
      await client.query(`SELECT metric.ensure_partitions($1::timestamptz, now() + interval '7 days')`, [
        manifest.samplesFrom,
      ]);
      await client.query(`SELECT set_config('role', 'none', true)`);
    }
    // COPY does not pass row-level security, which binds the owner too if it is forced, and triggers would check old
    // rows by current rules. Both are disabled in this transaction only and restored before it commits.
    const forced = new Set(await forcedTables(client));
    const names = manifest.tables.map(({ name }) => name);
    for (const name of names) {
      if (forced.has(name)) await client.query(`ALTER TABLE ${quoted(name)} NO FORCE ROW LEVEL SECURITY`);
      await client.query(`ALTER TABLE ${quoted(name)} DISABLE TRIGGER USER`);
    }
    for (const { name, columns } of manifest.tables) {
      const { rowCount } = await client.query(`SELECT FROM ${quoted(name)} LIMIT 1`);
      if (rowCount !== 0) throw new Error(`the table ${name} is not empty: restore into a new data folder`);
      const stream = client.query(copyFrom(`COPY ${quoted(name)} (${listOf(columns)}) FROM STDIN (FORMAT binary)`));
      await pipeline(open(name), stream);
    }
    await continueSequences(client);
    for (const name of names) {
      await client.query(`ALTER TABLE ${quoted(name)} ENABLE TRIGGER USER`);
      if (forced.has(name)) await client.query(`ALTER TABLE ${quoted(name)} FORCE ROW LEVEL SECURITY`);
    }
  });
}

/** Lets each identity column count on after its loaded rows; a dump holds rows only. */
async function continueSequences(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ name: string; column: string }>(`
    SELECT table_schema || '.' || table_name AS "name", column_name AS "column"
    FROM information_schema.columns WHERE is_identity = 'YES' AND table_schema IN ('public', 'metric')`);
  for (const { name, column } of rows) {
    const table = quoted(name);
    await client.query(
      `SELECT setval(pg_get_serial_sequence($1, $2), max(${pg.escapeIdentifier(column)})) FROM ${table}`,
      [table, column],
    );
  }
}

async function inTransaction<T>(url: string, mode: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'fairlead-backup',
    options: sessionSettings,
  });
  await client.connect();
  try {
    await client.query(`BEGIN ISOLATION LEVEL ${mode}`);
    const result = await work(client);
    await client.query('COMMIT');
    return result;
  } finally {
    // Ending a session rolls an open transaction back.
    await client.end();
  }
}

const identity: ReadonlySet<string> = new Set(identityTables.map((name) => `public.${name}`));

/** Identity's tables are the login role's, every other one opens to system scope. */
async function enterScope(client: pg.Client, table: string): Promise<void> {
  await client.query(`SELECT set_config('role', $1, true), set_config('fairlead.system_reason', 'backup', true)`, [
    identity.has(table) ? 'none' : systemRole,
  ]);
}

/** Partitions belong to their parents. Ordered by foreign keys. */
async function listTables(client: pg.Client): Promise<readonly DumpedTable[]> {
  const { rows } = await client.query<{ name: string; columns: string[]; needs: string[] }>(`
    SELECT n.nspname || '.' || c.relname AS "name",
           ARRAY(SELECT a.attname::text FROM pg_attribute a
                 WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
                 ORDER BY a.attnum) AS "columns",
           ARRAY(SELECT DISTINCT tn.nspname || '.' || t.relname FROM pg_constraint f
                 JOIN pg_class t ON t.oid = f.confrelid JOIN pg_namespace tn ON tn.oid = t.relnamespace
                 WHERE f.conrelid = c.oid AND f.contype = 'f' AND f.confrelid <> c.oid) AS "needs"
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND n.nspname IN ('public', 'metric')
      AND c.relname <> '_prisma_migrations'
    ORDER BY 1`);
  const ordered: DumpedTable[] = [];
  const done = new Set<string>();
  while (ordered.length < rows.length) {
    const ready = rows.filter((row) => !done.has(row.name) && row.needs.every((name) => done.has(name)));
    if (ready.length === 0) throw new Error('tables point to each other in a circle: a restore could not load them');
    for (const { name, columns } of ready) {
      done.add(name);
      ordered.push({ name, columns });
    }
  }
  return ordered;
}

async function forcedTables(client: pg.Client): Promise<readonly string[]> {
  const { rows } = await client.query<{ name: string }>(`
    SELECT n.nspname || '.' || c.relname AS "name"
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relforcerowsecurity AND n.nspname IN ('public', 'metric')`);
  return rows.map(({ name }) => name);
}

function quoted(table: string): string {
  return table.split('.').map(pg.escapeIdentifier).join('.');
}

function listOf(columns: readonly string[]): string {
  return columns.map((column) => pg.escapeIdentifier(column)).join(', ');
}
