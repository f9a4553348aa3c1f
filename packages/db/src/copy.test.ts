import { newId } from '@fairlead/contract/ids';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { analyzeTables, loadInSystemScope } from './copy.ts';
import { type TestDatabase, testDatabase } from './testing-vitest.ts';

let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase();
});
afterAll(() => db.drop());

function server(organizationId: string, name: string) {
  return {
    id: newId('srv'),
    organization_id: organizationId,
    name,
    public_key: new Uint8Array([0, 1, 254, 255]),
    is_local: true,
    capabilities: ['plain', 'with "quotes", commas\\', 'tab\there\nand a line'],
    host_info: JSON.stringify({ os: 'Debian\t12\n', kernel: '\\N' }),
    desired_number: 12345678901234567n,
    refused_reason: null,
    created_at: new Date('2026-01-02T03:04:05.678Z'),
  };
}

test('every kind of value arrives as it was', async () => {
  const organizationId = newId('org');
  const row = server(organizationId, 'back\\slash');
  await loadInSystemScope(db.url, 'test', async (loader) => {
    await loader.load('organization', [{ id: organizationId, name: 'Copy', slug: 'copy' }]);
    expect(await loader.load('server', [row])).toBe(1);
  });
  const [stored] = await db.database.tenant(organizationId, (tx) => tx.server.findMany());
  expect(stored).toMatchObject({
    name: row.name,
    publicKey: row.public_key,
    isLocal: true,
    capabilities: row.capabilities,
    hostInfo: { os: 'Debian\t12\n', kernel: '\\N' },
    desiredNumber: row.desired_number,
    refusedReason: null,
    createdAt: row.created_at,
  });
});

test('a load is all or nothing', async () => {
  const organizationId = newId('org');
  const failing = loadInSystemScope(db.url, 'test', async (loader) => {
    await loader.load('organization', [{ id: organizationId, name: 'Half', slug: 'half' }]);
    await loader.load('server', [server(organizationId, 'twice'), server(organizationId, 'twice')]);
  });
  await expect(failing).rejects.toThrow(/duplicate key/);
  expect(await db.database.system('test', (tx) => tx.organization.count({ where: { slug: 'half' } }))).toBe(0);
});

test('no rows are no load, and a row that lacks a column is refused', async () => {
  await loadInSystemScope(db.url, 'test', async (loader) => {
    expect(await loader.load('organization', [])).toBe(0);
  });
  const lacking = loadInSystemScope(db.url, 'test', (loader) =>
    loader.load('organization', [{ id: 'org_1', name: 'x', slug: 'x' }, { id: 'org_2' }]),
  );
  await expect(lacking).rejects.toThrow('lacks the column name');
});

test('the planner has statistics of the loaded rows', async () => {
  await analyzeTables(db.url);
  const [row] = await db.database.system(
    'test',
    (tx) => tx.$queryRaw<{ rows: number }[]>`
    SELECT reltuples::int AS rows FROM pg_class WHERE relname = 'server'`,
  );
  expect(row?.rows).toBe(1);
});
