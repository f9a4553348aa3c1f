// Migration that gives stored passwords their host: the hosts that it can tell, and those that it leaves unknown.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { newId } from '@fairlead/contract/ids';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { migrationsDir } from './testing.ts';
import { insertOrganizationRows, type OrganizationRows, type TestDatabase, testDatabase } from './testing-vitest.ts';

let db: TestDatabase;
let rows: OrganizationRows;
beforeAll(async () => {
  db = await testDatabase();
  rows = await insertOrganizationRows(db.database, 'acme');
});
afterAll(() => db.drop());

/** Returns the host that an app's password of this kind gets, with that source at the time of the migration. */
async function hostAfter(kind: string, repositoryUrl: string, images: readonly string[] = []): Promise<string> {
  const { organizationId, projectId } = rows;
  const appId = newId('app');
  const placed = { organizationId, appId };
  await db.database.system('test rows', async (tx) => {
    const { dataKeyId } = await tx.sourceCredential.findFirstOrThrow({ where: { organizationId } });
    await tx.app.create({
      data: { id: appId, organizationId, projectId, name: appId, slug: appId, repositoryUrl, command: [] },
    });
    await tx.sourceCredential.create({
      data: { ...placed, id: newId('crd'), kind, dataKeyId, envelope: new Uint8Array() },
    });
    for (const image of images) {
      const environmentId = newId('env');
      await tx.environment.create({
        data: { id: environmentId, organizationId, projectId, name: environmentId, slug: environmentId },
      });
      await tx.placement.create({ data: { ...placed, environmentId, id: newId('plc'), branch: '' } });
      const settings = { builder: 'image', image };
      await tx.appConfig.create({
        data: { ...placed, environmentId, id: newId('cfg'), number: 1, settings: { builder: 'auto' } },
      });
      await tx.appConfig.create({ data: { ...placed, environmentId, id: newId('cfg'), number: 2, settings } });
    }
  });
  const sql = await readFile(join(migrationsDir, '20261123093000_credential_host/migration.sql'), 'utf8');
  const client = new pg.Client({ connectionString: db.url });
  await client.connect();
  await client.query(sql.replace(/^ALTER TABLE .*$/m, ''));
  await client.end();
  const { host } = await db.database.system('test rows', (tx) =>
    tx.sourceCredential.findFirstOrThrow({ where: placed }),
  );
  return host;
}

test.each([
  ['https', 'https://git.example.test/shop.git', [], 'git.example.test'],
  ['https', 'https://git.example.test:8443/shop.git', [], 'git.example.test:8443'],
  ['https', 'http://localhost/shop.git', [], 'localhost:80'],
  ['https', 'http://[::1]:3000/shop.git', [], '[::1]:3000'],
  ['https', 'ssh://git@git.example.test/shop.git', [], ''],
  ['registry', '', ['registry.example.test:5000/shop:1'], 'registry.example.test:5000'],
  ['registry', '', ['shop:1', 'team/shop:1', 'index.docker.io/team/shop'], 'docker.io'],
  ['registry', '', ['a.example.test/shop:1', 'b.example.test/shop:1'], ''],
  ['registry', '', [], ''],
  ['ssh', 'https://git.example.test/shop.git', [], ''],
] as const)('a %s password of %s %s is for %s', async (kind, url, images, host) => {
  expect(await hostAfter(kind, url, images)).toBe(host);
});
