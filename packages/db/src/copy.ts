// Loads many rows at once by COPY, in system scope and one transaction: all of them or none. For seeds and restores.
// PostgreSQL refuses COPY into tables with row-level security, so rows pass through a temporary table.

import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { sessionSettings } from './connections.ts';
import { systemRole } from './scope.ts';

export type CopyValue = string | number | bigint | boolean | Date | Uint8Array | readonly string[] | null;
/** Column names and values. All rows of one load have the same columns. */
export type CopyRow = Readonly<Record<string, CopyValue>>;

export interface Loader {
  /** Loads rows into a table ("app", "metric.app_1m") and returns their number. */
  load(table: string, rows: Iterable<CopyRow>): Promise<number>;
  query<Row extends pg.QueryResultRow>(sql: string, values?: readonly unknown[]): Promise<readonly Row[]>;
}

export async function loadInSystemScope<T>(
  url: string,
  reason: string,
  work: (loader: Loader) => Promise<T>,
): Promise<T> {
  const client = new pg.Client({ connectionString: url, application_name: 'fairlead-load', options: sessionSettings });
  await client.connect();
  try {
    await client.query('BEGIN');
    await client.query(`SELECT set_config('role', $1, true), set_config('fairlead.system_reason', $2, true)`, [
      systemRole,
      reason,
    ]);
    const result = await work({
      load: (table, rows) => load(client, table, rows),
      query: async <Row extends pg.QueryResultRow>(sql: string, values: readonly unknown[] = []) =>
        (await client.query<Row>(sql, [...values])).rows,
    });
    await client.query('COMMIT');
    return result;
  } finally {
    // Ending a session rolls an open transaction back.
    await client.end();
  }
}

/** Lets the planner know what was loaded. As the login role, which owns the tables. */
export async function analyzeTables(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url, options: sessionSettings });
  await client.connect();
  try {
    // PostgreSQL skips what the role doesn't own, with a warning for the shared catalogue; ours are named instead.
    const { rows } = await client.query<{ readonly name: string }>(
      `SELECT format('%I.%I', nspname, relname) AS name FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
       WHERE relkind = 'r' AND nspname IN ('public', 'metric')`,
    );
    await client.query(`VACUUM (ANALYZE) ${rows.map((row) => row.name).join(', ')}`);
  } finally {
    await client.end();
  }
}

async function load(client: pg.Client, table: string, rows: Iterable<CopyRow>): Promise<number> {
  const iterator = rows[Symbol.iterator]();
  const first = iterator.next();
  if (first.done === true) return 0;
  const columns = Object.keys(first.value);
  const list = columns.map((column) => pg.escapeIdentifier(column)).join(', ');
  const target = table.split('.').map(pg.escapeIdentifier).join('.');
  await client.query(`CREATE TEMP TABLE loading ON COMMIT DROP AS SELECT ${list} FROM ${target} WITH NO DATA`);
  const stream = client.query(copyFrom(`COPY loading (${list}) FROM STDIN`));
  await pipeline(Readable.from(encodeChunks(columns, first.value, iterator)), stream);
  const { rowCount } = await client.query(`INSERT INTO ${target} (${list}) SELECT ${list} FROM loading`);
  await client.query('DROP TABLE loading');
  return rowCount ?? 0;
}

const chunkCharacters = 64 * 1024;

function* encodeChunks(columns: readonly string[], first: CopyRow, rest: Iterator<CopyRow>): Generator<string> {
  let chunk = encodeRow(columns, first);
  for (let next = rest.next(); next.done !== true; next = rest.next()) {
    chunk += encodeRow(columns, next.value);
    if (chunk.length >= chunkCharacters) {
      yield chunk;
      chunk = '';
    }
  }
  if (chunk !== '') yield chunk;
}

function encodeRow(columns: readonly string[], row: CopyRow): string {
  let line = '';
  for (const [position, column] of columns.entries()) {
    const value = row[column];
    if (value === undefined) throw new TypeError(`a row lacks the column ${column}`);
    line += (position === 0 ? '' : '\t') + encodeValue(value);
  }
  return `${line}\n`;
}

/** COPY's text format: tab, line feed, carriage return and backslash are escaped, \N is null. */
export function encodeValue(value: CopyValue): string {
  if (value === null) return '\\N';
  if (typeof value === 'string') return escapeText(value);
  if (typeof value === 'number' || typeof value === 'bigint') return String(value);
  if (typeof value === 'boolean') return value ? 't' : 'f';
  if (value instanceof Date) return value.toISOString();
  if (value instanceof Uint8Array)
    return `\\\\x${Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('hex')}`;
  const elements = value.map((element) => `"${element.replace(/["\\]/g, '\\$&')}"`);
  return escapeText(`{${elements.join(',')}}`);
}

const escapes: Readonly<Record<string, string>> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' };

function escapeText(text: string): string {
  return text.replace(/[\\\t\n\r]/g, (character) => escapes[character] ?? character);
}
