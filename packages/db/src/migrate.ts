// Runs start-up migrations without Prisma's command line: applies prisma/migrations/*/migration.sql in order and
// records them as Prisma does. Then it migrates the job queue's own schema.
// Invariant: never skips, reorders or edits a migration.
import { createHash, randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runMigrations } from 'graphile-worker';
import pg from 'pg';
import { sessionSettings } from './connections.ts';

export interface MigrateOptions {
  /** URL of the login role, which will own the tables. */
  readonly url: string;
  /** Folder of migrations, each in its own folder. */
  readonly dir: string;
  /** Stop after this one: a backup is loaded into tables as they were, and what came later is applied to its rows. */
  readonly until?: string;
  readonly log: (line: string) => void;
}

export type MigrationErrorCode = 'failed_before' | 'edited' | 'failed';

export class MigrationError extends Error {
  readonly code: MigrationErrorCode;
  readonly migration: string;

  constructor(code: MigrationErrorCode, migration: string, message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'MigrationError';
    this.code = code;
    this.migration = migration;
  }
}

interface Migration {
  readonly name: string;
  readonly sql: string;
  readonly checksum: string;
}

interface AppliedRow {
  readonly migration_name: string;
  readonly checksum: string;
  readonly finished_at: Date | null;
}

/** The advisory lock that Prisma's schema engine takes: neither of us migrates while the other does. */
const prismaLock = '72707369';

/** Applies pending migrations and returns their names. Safe to call at every start, also concurrently. */
export async function migrate(options: MigrateOptions): Promise<readonly string[]> {
  const { until } = options;
  const all = await readMigrations(options.dir);
  const migrations = until === undefined ? all : all.filter(({ name }) => name <= until);
  const client = new pg.Client({
    connectionString: options.url,
    application_name: 'fairlead-migrate',
    options: sessionSettings,
  });
  await client.connect();
  try {
    await client.query('SELECT pg_advisory_lock($1)', [prismaLock]);
    const missing = await findMissing(client, migrations, options.log);
    for (const migration of missing) {
      await apply(client, migration);
      options.log(`applied migration ${migration.name}`);
    }
    // The tables of the queue belong to graphile-worker, which migrates them itself; it is safe to repeat.
    await runMigrations({ connectionString: options.url });
    return missing.map((migration) => migration.name);
  } finally {
    await client.end();
  }
}

async function readMigrations(dir: string): Promise<readonly Migration[]> {
  const entries = await readdir(dir, { withFileTypes: true });
  const names = entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
  return Promise.all(
    names.sort().map(async (name) => {
      const sql = await readFile(join(dir, name, 'migration.sql'), 'utf8');
      return { name, sql, checksum: createHash('sha256').update(sql).digest('hex') };
    }),
  );
}

async function findMissing(
  client: pg.Client,
  migrations: readonly Migration[],
  log: (line: string) => void,
): Promise<readonly Migration[]> {
  // Column for column what Prisma's engine creates.
  await client.query(`CREATE TABLE IF NOT EXISTS _prisma_migrations (
    id VARCHAR(36) PRIMARY KEY NOT NULL,
    checksum VARCHAR(64) NOT NULL,
    finished_at TIMESTAMPTZ,
    migration_name VARCHAR(255) NOT NULL,
    logs TEXT,
    rolled_back_at TIMESTAMPTZ,
    started_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    applied_steps_count INTEGER NOT NULL DEFAULT 0
  )`);
  const { rows } = await client.query<AppliedRow>(
    'SELECT migration_name, checksum, finished_at FROM _prisma_migrations WHERE rolled_back_at IS NULL',
  );
  const byName = new Map(migrations.map((migration) => [migration.name, migration]));
  for (const row of rows) {
    const name = row.migration_name;
    if (row.finished_at === null) {
      throw new MigrationError(
        'failed_before',
        name,
        `Migration ${name} failed before. Restore the database or resolve it with "npx prisma migrate resolve".`,
      );
    }
    const migration = byName.get(name);
    if (migration === undefined) {
      // The version before runs on the newer schema, so that a release can be taken back.
      log(`the database has the newer migration ${name}`);
      continue;
    }
    if (migration.checksum !== row.checksum) {
      throw new MigrationError(
        'edited',
        name,
        `Migration ${name} was edited after it was applied. Restore the file and write a new migration.`,
      );
    }
  }
  const done = new Set(rows.map((row) => row.migration_name));
  return migrations.filter((migration) => !done.has(migration.name));
}

async function apply(client: pg.Client, migration: Migration): Promise<void> {
  const id = randomUUID();
  await client.query('INSERT INTO _prisma_migrations (id, checksum, migration_name) VALUES ($1, $2, $3)', [
    id,
    migration.checksum,
    migration.name,
  ]);
  try {
    // Without parameters the whole script runs in one implicit transaction.
    await client.query(migration.sql);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    await client.query('UPDATE _prisma_migrations SET logs = $2 WHERE id = $1', [id, reason]);
    throw new MigrationError('failed', migration.name, `Migration ${migration.name} failed: ${reason}`, error);
  }
  await client.query('UPDATE _prisma_migrations SET finished_at = now(), applied_steps_count = 1 WHERE id = $1', [id]);
}
