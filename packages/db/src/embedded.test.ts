import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type EmbeddedServer, findClosedFolder, startEmbedded } from './embedded.ts';
import { freePort } from './testing.ts';

let dataDir: string;
let port: number;
const running: EmbeddedServer[] = [];

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'fairlead-embedded-'));
  await chmod(dataDir, 0o711);
  port = await freePort();
});
afterEach(async () => {
  for (const server of running.splice(0)) await server.stop();
  await rm(dataDir, { recursive: true, force: true });
});

async function start(options: { readonly binariesDir?: string } = {}): Promise<EmbeddedServer> {
  const server = await startEmbedded({ dataDir, port, log: () => {}, unsafeButFast: true, ...options });
  running.push(server);
  return server;
}

async function query(url: string, sql: string): Promise<readonly unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

test('data and password survive a restart, and clients that are still connected do not hinder the stop', async () => {
  const first = await start();
  await query(first.url, 'CREATE TABLE kept AS SELECT 42 AS answer');
  const idle = new pg.Client({ connectionString: first.url });
  await idle.connect();
  const errors: Error[] = [];
  idle.on('error', (error) => errors.push(error));
  const cutOff = new Promise<void>((resolve) => idle.once('end', () => resolve()));
  await first.stop();
  await cutOff;
  expect(errors[0]).toMatchObject({ code: '57P01' });
  const second = await start();
  expect(second.url).toBe(first.url);
  expect(await query(second.url, 'SELECT answer FROM kept')).toEqual([{ answer: 42 }]);
});

test('the login role is an ordinary one and a wrong password is refused', async () => {
  const { url } = await start();
  const roles = await query(url, 'SELECT rolsuper, rolbypassrls FROM pg_roles WHERE rolname = current_user');
  expect(roles).toEqual([{ rolsuper: false, rolbypassrls: false }]);
  const wrong = new URL(url);
  wrong.password = 'wrong';
  await expect(query(wrong.href, 'SELECT 1')).rejects.toMatchObject({ code: '28P01' });
});

test('passwords are for their owner only', async () => {
  await start();
  for (const file of ['superuser.password', 'login.password']) {
    expect((await stat(join(dataDir, file))).mode & 0o777).toBe(0o600);
  }
});

test('a living owner keeps its data folder; a server that a killed owner left is replaced', async () => {
  const first = await start();
  // The record of another living process: the one that started this test.
  const parentStat = await readFile(`/proc/${process.ppid}/stat`, 'utf8');
  const startedAt = parentStat.slice(parentStat.lastIndexOf(')') + 2).split(' ')[19];
  await writeFile(join(dataDir, 'owner'), `${process.ppid} ${startedAt}\n`);
  await expect(start()).rejects.toMatchObject({ code: 'already_running' });
  // Same number but another start time: that process has ended.
  await writeFile(join(dataDir, 'owner'), `${process.ppid} 1\n`);
  const second = await start();
  expect(second.pid).not.toBe(first.pid);
  expect(await query(second.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
});

test('a taken port is named', async () => {
  const taken = createServer().listen(port, '127.0.0.1');
  await once(taken, 'listening');
  await expect(start()).rejects.toMatchObject({ code: 'port_taken', subject: String(port) });
  const closed = once(taken, 'close');
  taken.close();
  await closed;
  await start();
});

test('data of another major version is refused, not touched', async () => {
  const server = await start();
  await server.stop();
  await writeFile(join(dataDir, 'cluster', 'PG_VERSION'), '15\n');
  await expect(start()).rejects.toMatchObject({ code: 'version_mismatch' });
});

test('a cluster with an interrupted initdb is made again', async () => {
  await mkdir(join(dataDir, 'cluster', 'base'), { recursive: true });
  const { url } = await start();
  expect(await query(url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
});

test.each(['', 'garbage\n'])('a broken lock file of PostgreSQL does not hinder a start: %j', async (text) => {
  const first = await start();
  await query(first.url, 'CREATE TABLE kept AS SELECT 42 AS answer');
  await first.stop();
  await writeFile(join(dataDir, 'cluster', 'postmaster.pid'), text);
  await writeFile(join(dataDir, 'owner'), text);
  const { url } = await start();
  expect(await query(url, 'SELECT answer FROM kept')).toEqual([{ answer: 42 }]);
});

test('a folder that the server may not enter is named', async () => {
  const stranger = { name: 'stranger', uid: 54321, gid: 54321 };
  const closed = join(dataDir, 'closed');
  await mkdir(closed, { mode: 0o700 });
  expect(await findClosedFolder(join(closed, 'data'), stranger)).toBe(closed);
  await chmod(closed, 0o711);
  expect(await findClosedFolder(join(closed, 'data'), stranger)).toBeNull();
});
