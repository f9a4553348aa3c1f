// Embedded PostgreSQL: a real server from npm's binaries, on loopback only, with its data folder, process and two
// accounts.
// Invariant: callers get the URL of an ordinary login role and never the superuser, so row-level security binds here
// too.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { access, chown, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { PoolSizes } from '@fairlead/settings';
import pg from 'pg';
import { connectionsNeeded, defaultPools } from './connections.ts';
import { type ServerAccount, serverAccount } from './embedded/account.ts';
import { type Binaries, completeBinaries, copyBinaries, findBinaries } from './embedded/binaries.ts';
import { EmbeddedError, explainFailure } from './embedded/error.ts';
import { requireOpenFolders } from './embedded/folders.ts';
import { takeOwnership } from './embedded/owner.ts';
import { type RunningProgram, runProgram, spawnProgram } from './embedded/program.ts';

export { type ServerAccount, serverAccount } from './embedded/account.ts';
export { completeBinaries } from './embedded/binaries.ts';
export { EmbeddedError, type EmbeddedErrorCode } from './embedded/error.ts';
export { findClosedFolder } from './embedded/folders.ts';

export interface EmbeddedOptions {
  readonly dataDir: string;
  /** Below 32768: above it the system hands ports to outgoing connections and they collide. */
  readonly port: number;
  readonly log: (line: string) => void;
  /** Folder for a copy of the programs if the server's account cannot read node_modules. */
  readonly binariesDir?: string;
  /** Pools of the processes that connect to it. */
  readonly pools?: PoolSizes;
  /** For tests: forgets the last second at a power cut. */
  readonly unsafeButFast?: boolean;
}

export interface EmbeddedServer {
  /** URL of the login role `fairlead`, which owns the database of the same name. */
  readonly url: string;
  /** The server process itself. */
  readonly pid: number;
  /** Resolves when the server and all of its child processes have ended, for any reason. */
  readonly ended: Promise<void>;
  /** Closes connections and stops the server; resolves when its files are at rest. */
  stop(): Promise<void>;
}

const superuser = 'postgres';
const loginRole = 'fairlead';
const startTimeoutMs = 60_000;
/** Leaves room for tools and tests beside the default pools. */
const connectionsMin = 60;
/** PostgreSQL's default of superuser_reserved_connections. */
const superusersOnly = 3;

export async function startEmbedded(options: EmbeddedOptions): Promise<EmbeddedServer> {
  const dataDir = resolve(options.dataDir);
  const clusterDir = join(dataDir, 'cluster');
  const account = await serverAccount();
  const binaries = await openBinaries(options, account);
  if (account !== null) await requireOpenFolders(dataDir, account);
  // 711: the server passes through to its cluster; the password files have their own mode.
  await mkdir(dataDir, { recursive: true, mode: 0o711 });
  await takeOwnership(dataDir);
  const superuserPassword = await readOrMakePassword(join(dataDir, 'superuser.password'));
  const loginPassword = await readOrMakePassword(join(dataDir, 'login.password'));

  if (await exists(join(clusterDir, 'PG_VERSION'))) {
    await requireSameMajor(clusterDir, binaries);
    await stopLeftover(clusterDir, binaries, account, options);
  } else {
    await initialise(clusterDir, dataDir, binaries, account, superuserPassword, options);
  }
  const server = await start(clusterDir, binaries, account, options);
  // `close`, not `exit`: child processes hold its output open until the last of them has ended.
  const ended = once(server.child, 'close').then(() => undefined);
  const stop = async (): Promise<void> => {
    if (server.child.exitCode !== null || server.child.signalCode !== null) return;
    const closed = once(server.child, 'close');
    // SIGINT is PostgreSQL's "fast shutdown": open transactions are rolled back, then everything is flushed.
    server.child.kill('SIGINT');
    await closed;
  };
  try {
    await prepareLogin(options.port, superuserPassword, loginPassword);
  } catch (error) {
    await stop();
    throw error;
  }
  const pid = server.child.pid;
  if (pid === undefined) throw new EmbeddedError('start_failed', 'PostgreSQL started without a process number.');
  return { url: urlOf(loginRole, loginPassword, options.port, loginRole), pid, ended, stop };
}

/** The URL of a server that already runs on this data folder; null when none does. Starts nothing. */
export async function findRunning(dataDir: string): Promise<string | null> {
  const pidFile = join(resolve(dataDir), 'cluster', 'postmaster.pid');
  if (!(await exists(pidFile))) return null;
  // Line 4 is the port (PostgreSQL documentation, "postmaster.pid").
  const port = Number((await readFile(pidFile, 'utf8')).split('\n')[3]);
  const password = (await readFile(join(resolve(dataDir), 'login.password'), 'utf8')).trim();
  const url = urlOf(loginRole, password, port, loginRole);
  const client = new pg.Client({ connectionString: url });
  try {
    await client.connect();
    await client.end();
    return url;
  } catch (error) {
    // The file outlives a server that was killed.
    if ((error as NodeJS.ErrnoException).code === 'ECONNREFUSED') return null;
    throw error;
  }
}

async function openBinaries(options: EmbeddedOptions, account: ServerAccount | null): Promise<Binaries> {
  const installed = await findBinaries();
  await completeBinaries(installed);
  if (account === null) return installed;
  const binaries = options.binariesDir === undefined ? installed : await copyBinaries(installed, options.binariesDir);
  await requireOpenFolders(binaries.root, account);
  return binaries;
}

async function initialise(
  clusterDir: string,
  dataDir: string,
  binaries: Binaries,
  account: ServerAccount | null,
  password: string,
  options: EmbeddedOptions,
): Promise<void> {
  options.log('making the database cluster');
  // A folder after an interrupted initdb holds no data yet; PG_VERSION tells the two apart.
  await rm(clusterDir, { recursive: true, force: true });
  await mkdir(clusterDir, { mode: 0o700 });
  const passwordFile = join(dataDir, 'initdb.password');
  await writeFile(passwordFile, `${password}\n`, { mode: 0o600 });
  if (account !== null) {
    await chown(clusterDir, account.uid, account.gid);
    await chown(passwordFile, account.uid, account.gid);
  }
  try {
    const args = [
      `--pgdata=${clusterDir}`,
      `--username=${superuser}`,
      `--pwfile=${passwordFile}`,
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      // The built-in locale is the same on every machine; the system's may change under the indexes.
      '--locale=C',
      '--locale-provider=builtin',
      '--builtin-locale=C.UTF-8',
      ...(options.unsafeButFast ? ['--no-sync'] : []),
    ];
    const { exitCode, words } = await runProgram(binaries, 'initdb', args, account, options.log);
    if (exitCode !== 0) {
      await rm(clusterDir, { recursive: true, force: true });
      throw explainFailure('initdb', words, options.port);
    }
  } finally {
    await rm(passwordFile, { force: true });
  }
}

async function requireSameMajor(clusterDir: string, binaries: Binaries): Promise<void> {
  const major = Number.parseInt(await readFile(join(clusterDir, 'PG_VERSION'), 'utf8'), 10);
  if (major === binaries.major) return;
  throw new EmbeddedError(
    'version_mismatch',
    `The data in ${clusterDir} was written by PostgreSQL ${major}, this version brings PostgreSQL ${binaries.major}. ` +
      `Dump it with the version before and restore it into a new data folder.`,
    clusterDir,
  );
}

/** A killed supervisor leaves its server behind. Nobody owns it any more (see takeOwnership), so it is stopped. */
async function stopLeftover(
  clusterDir: string,
  binaries: Binaries,
  account: ServerAccount | null,
  options: EmbeddedOptions,
): Promise<void> {
  const pidFile = join(clusterDir, 'postmaster.pid');
  if (!(await exists(pidFile))) return;
  // PostgreSQL refuses a lock file without a number, which a full disk or a power cut leaves. A server whose file was
  // damaged while it ran ends itself within a minute, and until then it holds the port.
  if (!/^-?\d+\n/.test(await readFile(pidFile, 'utf8'))) {
    options.log(`removing ${pidFile}, which names no process`);
    await rm(pidFile);
    return;
  }
  const status = await runProgram(binaries, 'pg_ctl', ['status', '-D', clusterDir], account, () => {});
  if (status.exitCode !== 0) return;
  options.log('stopping the database server that an earlier start left behind');
  const args = ['stop', '-D', clusterDir, '-m', 'fast', '-w', '-t', '30'];
  const { exitCode, words } = await runProgram(binaries, 'pg_ctl', args, account, options.log);
  if (exitCode !== 0) throw explainFailure('Stopping the earlier database server', words, options.port);
}

async function start(
  clusterDir: string,
  binaries: Binaries,
  account: ServerAccount | null,
  options: EmbeddedOptions,
): Promise<RunningProgram> {
  const settings: Record<string, string> = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    timezone: 'UTC',
    log_timezone: 'UTC',
    log_min_messages: 'warning',
    // Just-in-time compilation costs more in planning than our short queries take.
    jit: 'off',
    max_connections: String(
      Math.max(connectionsMin, connectionsNeeded(options.pools ?? defaultPools) + superusersOnly),
    ),
    shared_buffers: '128MB',
    ...(options.unsafeButFast ? { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' } : {}),
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const ready = Promise.withResolvers<void>();
  const server = spawnProgram(
    binaries,
    'postgres',
    ['-D', clusterDir, '-p', String(options.port), ...flags],
    account,
    (line) => {
      options.log(line);
      if (line.includes('database system is ready to accept connections')) ready.resolve();
    },
  );
  server.child.once('error', (error) =>
    ready.reject(new EmbeddedError('start_failed', `PostgreSQL: ${error.message}`)),
  );
  server.child.once('close', () => ready.reject(explainFailure('PostgreSQL', server.words, options.port)));
  const deadline = setTimeout(() => {
    server.child.kill('SIGINT');
    ready.reject(new EmbeddedError('start_failed', `PostgreSQL was not ready within ${startTimeoutMs / 1000} s.`));
  }, startTimeoutMs);
  try {
    await ready.promise;
  } finally {
    clearTimeout(deadline);
  }
  return server;
}

/** Makes the login role and its database, or gives the role the password we know again. */
async function prepareLogin(port: number, superuserPassword: string, loginPassword: string): Promise<void> {
  const client = new pg.Client({ connectionString: urlOf(superuser, superuserPassword, port, 'postgres') });
  await client.connect();
  try {
    const role = await client.query('SELECT FROM pg_roles WHERE rolname = $1', [loginRole]);
    // DDL takes no parameters; the password is base64url of our own making.
    const password = client.escapeLiteral(loginPassword);
    const verb = role.rowCount === 0 ? 'CREATE' : 'ALTER';
    await client.query(
      `${verb} ROLE ${loginRole} LOGIN NOSUPERUSER NOBYPASSRLS CREATEROLE CREATEDB PASSWORD ${password}`,
    );
    const database = await client.query('SELECT FROM pg_database WHERE datname = $1', [loginRole]);
    if (database.rowCount === 0) await client.query(`CREATE DATABASE ${loginRole} OWNER ${loginRole}`);
  } finally {
    await client.end();
  }
}

async function readOrMakePassword(path: string): Promise<string> {
  if (await exists(path)) return (await readFile(path, 'utf8')).trim();
  const password = randomBytes(24).toString('base64url');
  // A full disk must not leave an empty password.
  await writeFile(`${path}.new`, `${password}\n`, { mode: 0o600 });
  await rename(`${path}.new`, path);
  return password;
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

function urlOf(user: string, password: string, port: number, database: string): string {
  return `postgresql://${user}:${password}@127.0.0.1:${port}/${database}`;
}
