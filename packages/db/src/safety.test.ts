import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createDatabase } from './database.ts';
import { startTestCluster, type TestCluster } from './testing.ts';

// Roles belong to the whole server, so these tests take a server of their own.
let cluster: TestCluster;
let superuser: pg.Client;
let superuserUrl: string;

beforeAll(async () => {
  cluster = await startTestCluster();
  const password = (await readFile(join(cluster.dataDir, 'superuser.password'), 'utf8')).trim();
  const url = new URL(cluster.templateUrl);
  url.username = 'postgres';
  url.password = password;
  superuserUrl = url.href;
  superuser = new pg.Client({ connectionString: superuserUrl });
  await superuser.connect();
});
afterAll(async () => {
  await superuser.end();
  await cluster.stop();
});

async function findings(url: string): Promise<readonly string[]> {
  const database = createDatabase({ url, poolMax: 1, applicationName: 'test' });
  try {
    await database.assertSafe();
    return [];
  } catch (error) {
    return (error as { findings: readonly string[] }).findings;
  } finally {
    await database.close();
  }
}

test('the login role of the embedded server is safe', async () => {
  expect(await findings(cluster.templateUrl)).toEqual([]);
});

test('a superuser is refused', async () => {
  expect(await findings(superuserUrl)).toEqual(
    expect.arrayContaining([
      'Role postgres is a superuser; use an ordinary role.',
      'Role postgres has BYPASSRLS; take it away.',
    ]),
  );
});

test('a login role that bypasses row security is refused', async () => {
  await superuser.query('ALTER ROLE fairlead BYPASSRLS');
  expect(await findings(cluster.templateUrl)).toEqual(['Role fairlead has BYPASSRLS; take it away.']);
  await superuser.query('ALTER ROLE fairlead NOBYPASSRLS');
  expect(await findings(cluster.templateUrl)).toEqual([]);
});

test('a scope role that bypasses row security or is a superuser is refused', async () => {
  await superuser.query('ALTER ROLE fairlead_tenant BYPASSRLS');
  expect(await findings(cluster.templateUrl)).toEqual(['Role fairlead_tenant has BYPASSRLS; take it away.']);
  await superuser.query('ALTER ROLE fairlead_tenant NOBYPASSRLS SUPERUSER');
  expect(await findings(cluster.templateUrl)).toEqual(['Role fairlead_tenant is a superuser; use an ordinary role.']);
  await superuser.query('ALTER ROLE fairlead_tenant NOSUPERUSER');
});

test('a database with too few connections for all processes is refused', async () => {
  const database = new URL(cluster.templateUrl).pathname.slice(1);
  await superuser.query(`ALTER DATABASE ${database} CONNECTION LIMIT 12`);
  expect(await findings(cluster.templateUrl)).toEqual([
    expect.stringMatching(/^The server lets 12 connections in, \d+ are needed; raise max_connections\.$/),
  ]);
  await superuser.query(`ALTER DATABASE ${database} CONNECTION LIMIT -1`);
});

test('a login role that inherits system scope is refused', async () => {
  await superuser.query('GRANT fairlead_system TO fairlead WITH INHERIT TRUE');
  expect(await findings(cluster.templateUrl)).toEqual([
    'The login role inherits fairlead_system; grant it WITH INHERIT FALSE.',
  ]);
  await superuser.query('REVOKE fairlead_system FROM fairlead CASCADE');
  expect(await findings(cluster.templateUrl)).toEqual([
    'The login role may not SET ROLE fairlead_system; grant it WITH INHERIT FALSE, SET TRUE.',
  ]);
});
