// Databases for tests: one embedded server a run, one migrated template in it, and a clone of it for each caller.
// Tests only. Everything is in a temporary folder that is deleted afterwards.
import { randomBytes } from 'node:crypto';
import { chmod, mkdtemp, rm, statfs } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { sessionSettings } from './connections.ts';
import { createDatabase, type Database } from './database.ts';
import { EmbeddedError, type EmbeddedServer, startEmbedded } from './embedded.ts';
import { migrate } from './migrate.ts';

export { readAllTables, type TableRows } from './testing-read-tables.ts';

export const migrationsDir = fileURLToPath(new URL('../../../prisma/migrations', import.meta.url));

export interface TestCluster {
  /** URL of a migrated database that refuses connections, because cloning requires that there are none. */
  readonly templateUrl: string;
  /** Folder of the embedded server; holds its passwords. */
  readonly dataDir: string;
  stop(): Promise<void>;
}

export interface TestDatabase {
  readonly database: Database;
  /** URL of the login role. */
  readonly url: string;
  /**
   * Runs one statement as the owner of the tables, which grants do not bind, nor row security once it is disabled.
   */
  asOwner(statement: string): Promise<void>;
  /** Closes `database` and removes the clone, even with open connections. */
  drop(): Promise<void>;
}

/** Starts a server in a temporary folder and migrates its template. About two seconds. */
export async function startTestCluster(): Promise<TestCluster> {
  const dataDir = await mkdtemp(join(await clusterParent(), 'fairlead-test-'));
  // mkdtemp makes it 700, and as root the server runs under another account.
  await chmod(dataDir, 0o711);
  const lines: string[] = [];
  const server = await startOnFreePort(dataDir, (line) => lines.push(line));
  const stop = async (): Promise<void> => {
    await server.stop();
    await rm(dataDir, { recursive: true, force: true });
  };
  try {
    await migrate({ url: server.url, dir: migrationsDir, log: () => {} });
  } catch (error) {
    await stop();
    throw new Error(`the test database could not be migrated\n${lines.slice(-20).join('\n')}`, { cause: error });
  }
  return { templateUrl: server.url, dataDir, stop };
}

const MEMORY = '/dev/shm';
const MEMORY_FREE_MIN_BYTES = 2 * 1024 ** 3;

/** Returns a folder in memory if there is room: a clone copies a thousand files. */
async function clusterParent(): Promise<string> {
  const memory = await statfs(MEMORY).catch(() => undefined);
  return memory !== undefined && memory.bavail * memory.bsize >= MEMORY_FREE_MIN_BYTES ? MEMORY : tmpdir();
}

const INSUFFICIENT_PRIVILEGE = '42501';

/** Clones the template: a fresh, migrated, empty database of one's own. About 50 ms. */
export async function cloneDatabase(
  templateUrl: string,
  options: { readonly poolMax?: number } = {},
): Promise<TestDatabase> {
  const name = `test_${randomBytes(8).toString('hex')}`;
  const template = decodeURIComponent(new URL(templateUrl).pathname.slice(1));
  await administer(templateUrl, `CREATE DATABASE ${name} TEMPLATE ${pg.escapeIdentifier(template)} STRATEGY FILE_COPY`);
  const url = withDatabase(templateUrl, name);
  const database = createDatabase({ url, poolMax: options.poolMax ?? 4, applicationName: 'test' });
  return {
    database,
    url,
    asOwner: (statement) => runStatement(url, statement),
    drop: async () => {
      await database.close();
      await waitForDisconnects(templateUrl, name);
      await administer(templateUrl, `DROP DATABASE ${name} WITH (FORCE)`).catch(async (error: unknown) => {
        // Autovacuum is in it: force may not end it, but a plain DROP does.
        if (!(error instanceof pg.DatabaseError && error.code === INSUFFICIENT_PRIVILEGE)) throw error;
        await administer(templateUrl, `DROP DATABASE ${name}`);
      });
    },
  };
}

/** Maximum time for a closing connection before it is terminated. */
const DISCONNECT_MAX_MS = 1_000;

/**
 * Waits for connections that are just closing: an error on a closing client has no listener any more, and would crash
 * the test run.
 */
async function waitForDisconnects(templateUrl: string, name: string): Promise<void> {
  await withClient(withDatabase(templateUrl, 'postgres'), async (client) => {
    const deadline = performance.now() + DISCONNECT_MAX_MS;
    while (performance.now() < deadline) {
      const { rows } = await client.query(
        `SELECT 1 FROM pg_stat_activity WHERE datname = $1 AND backend_type = 'client backend'`,
        [name],
      );
      if (rows.length === 0) return;
      await delay(10);
    }
  });
}

/** Disables row-level security, to measure its cost: from now on every role sees every row of the clone. */
export async function switchRowSecurityOff(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query<{ readonly name: string }>(
      `SELECT c.oid::regclass::text AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
       WHERE c.relrowsecurity AND n.nspname IN ('public', 'metric')`,
    );
    for (const { name } of rows) await client.query(`ALTER TABLE ${name} DISABLE ROW LEVEL SECURITY`);
  } finally {
    await client.end();
  }
}

async function administer(templateUrl: string, statement: string): Promise<void> {
  // Not the template itself: a connection to it would block cloning.
  await runStatement(withDatabase(templateUrl, 'postgres'), statement);
}

async function runStatement(connectionString: string, statement: string): Promise<void> {
  await withClient(connectionString, (client) => client.query(statement));
}

async function withClient(connectionString: string, work: (client: pg.Client) => Promise<unknown>): Promise<void> {
  const client = new pg.Client({ connectionString, options: sessionSettings });
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}

function withDatabase(url: string, name: string): string {
  const changed = new URL(url);
  changed.pathname = `/${name}`;
  return changed.href;
}

async function startOnFreePort(dataDir: string, log: (line: string) => void): Promise<EmbeddedServer> {
  for (let attempt = 1; ; attempt++) {
    const port = await freePort();
    try {
      return await startEmbedded({ dataDir, port, log, unsafeButFast: true });
    } catch (error) {
      // Between our look and its bind another test run may take the port.
      if (attempt < 5 && error instanceof EmbeddedError && error.code === 'port_taken') continue;
      await rm(dataDir, { recursive: true, force: true });
      throw error;
    }
  }
}

/** A port below the ephemeral range, where outgoing connections can't collide with it. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 14_000 + Math.floor(Math.random() * 6_000);
    if (await canBind(port)) return port;
  }
}

function canBind(port: number): Promise<boolean> {
  const probe = createServer();
  return new Promise((resolve) => {
    probe.once('error', () => resolve(false));
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });
}
