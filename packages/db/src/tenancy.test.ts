import { newId } from '@fairlead/contract/ids';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { identityClient } from './identity.ts';
import { Prisma } from './index.ts';
import { bookkeepingTables, identityTables, systemTables, unprotectedTables } from './tables.ts';
import { insertOrganizationRows, type OrganizationRows, type TestDatabase, testDatabase } from './testing-vitest.ts';

let db: TestDatabase;
let mine: OrganizationRows;
let theirs: OrganizationRows;

beforeAll(async () => {
  // One connection, so that leftovers of a transaction would show in the next.
  db = await testDatabase({ poolMax: 1 });
  mine = await insertOrganizationRows(db.database, 'mine');
  theirs = await insertOrganizationRows(db.database, 'theirs');
});
afterAll(() => db.drop());

/** Returns the tables that belong to organizations, from the catalogue. */
async function tenantTables(): Promise<readonly string[]> {
  const listed: readonly string[] = [...identityTables, ...bookkeepingTables, ...systemTables];
  const rows = await identityClient(db.database).$queryRaw<{ name: string }[]>`
    SELECT relname AS name FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace`;
  return rows.map((row) => row.name).filter((name) => !listed.includes(name));
}

function count(table: string): Prisma.Sql {
  return Prisma.sql`SELECT count(*)::int AS count FROM ${Prisma.raw(`"${table}"`)}`;
}

test('an organization sees its own rows of every table and none of another', async () => {
  const tables = await tenantTables();
  expect(tables.length).toBeGreaterThan(14);
  for (const table of tables) {
    const key = table === 'organization' ? 'id' : 'organization_id';
    const rows = await db.database.tenant(
      mine.organizationId,
      (tx) => tx.$queryRaw<{ owner: string }[]>`
        SELECT ${Prisma.raw(key)} AS owner FROM ${Prisma.raw(`"${table}"`)}`,
    );
    expect([...new Set(rows.map(({ owner }) => owner))], table).toEqual([mine.organizationId]);
  }
});

test('an unknown organization sees nothing', async () => {
  for (const table of await tenantTables()) {
    const rows = await db.database.tenant(newId('org'), (tx) => tx.$queryRaw(count(table)));
    expect(rows, table).toEqual([{ count: 0 }]);
  }
});

test('outside a scope the login role sees no row of any organization', async () => {
  const client = identityClient(db.database);
  for (const table of await tenantTables()) expect(await client.$queryRaw(count(table)), table).toEqual([{ count: 0 }]);
  await expect(client.organization.create({ data: { id: newId('org'), name: 'x', slug: 'x' } })).rejects.toThrow(
    /row-level security/,
  );
});

test('a scope ends with its transaction, also with one that failed', async () => {
  const failed = db.database.tenant(mine.organizationId, () => Promise.reject(new Error('on purpose')));
  await expect(failed).rejects.toThrow('on purpose');
  const [after] = await identityClient(db.database).$queryRaw<{ role: string; organization: string | null }[]>`
    SELECT current_setting('role') AS role, current_setting('fairlead.organization_id', true) AS organization`;
  expect(after?.role).toBe('none');
  expect(after?.organization ?? '').toBe('');
});

test('an organization cannot write a row of another', async () => {
  await db.database.tenant(mine.organizationId, async (tx) => {
    expect(await tx.app.updateMany({ where: { id: theirs.appId }, data: { name: 'stolen' } })).toEqual({ count: 0 });
    expect(await tx.app.deleteMany({ where: { id: theirs.appId } })).toEqual({ count: 0 });
  });
  const planted = db.database.tenant(mine.organizationId, (tx) =>
    tx.project.create({ data: { id: newId('prj'), organizationId: theirs.organizationId, name: 'x', slug: 'x' } }),
  );
  await expect(planted).rejects.toThrow(/row-level security/);
  const moved = db.database.tenant(mine.organizationId, (tx) =>
    tx.domain.updateMany({ data: { organizationId: theirs.organizationId } }),
  );
  await expect(moved).rejects.toThrow(/row-level security|foreign key/i);
});

test('a row cannot point into another organization', async () => {
  const crossing = db.database.tenant(mine.organizationId, (tx) =>
    tx.domain.create({
      data: {
        id: newId('dom'),
        organizationId: mine.organizationId,
        appId: theirs.appId,
        environmentId: mine.environmentId,
        host: 'crossing.example.test',
      },
    }),
  );
  await expect(crossing).rejects.toMatchObject({ code: 'P2003' });
});

test('an organization cannot make or end organizations', async () => {
  const made = db.database.tenant(mine.organizationId, (tx) =>
    tx.organization.create({ data: { id: newId('org'), name: 'x', slug: 'x' } }),
  );
  await expect(made).rejects.toThrow(/permission denied/);
  const ended = db.database.tenant(mine.organizationId, (tx) => tx.organization.deleteMany());
  await expect(ended).rejects.toThrow(/permission denied/);
});

test('system and identity tables are closed to an organization', async () => {
  for (const table of [
    'setup_token',
    'backup',
    'update_check',
    'signing_key',
    'session',
    'account',
    'verification',
    'sign_in_attempt',
    'passkey',
    'two_factor',
    'known_device',
    'account_link',
    'account_event',
  ]) {
    const read = db.database.tenant(mine.organizationId, (tx) => tx.$queryRaw(count(table)));
    await expect(read, table).rejects.toThrow(/permission denied/);
  }
});

test('an organization reads the names of its own members only', async () => {
  const users = await db.database.tenant(mine.organizationId, (tx) =>
    tx.user.findMany({ select: { id: true, name: true, email: true } }),
  );
  expect(users).toEqual([{ id: mine.userId, name: 'Owner of mine', email: 'owner@mine.example.test' }]);
  const more = db.database.tenant(mine.organizationId, (tx) => tx.user.findMany({ select: { createdAt: true } }));
  await expect(more).rejects.toThrow(/permission denied/);
});

test('system scope sees every organization and wants a reason', async () => {
  const all = await db.database.system('test', (tx) => tx.organization.count());
  expect(all).toBe(2);
  expect(() => db.database.system(' ', (tx) => tx.organization.count())).toThrow('needs a reason');
  expect(() => db.database.tenant('', (tx) => tx.organization.count())).toThrow('needs an organization');
});

test('times come back as the instant that was written, whatever the zone of the server', async () => {
  const at = new Date('2026-03-29T01:30:00.123Z');
  const [row] = await db.database.system(
    'test',
    (tx) => tx.$queryRaw<{ at: Date; zone: string }[]>`
    SELECT '2026-03-29 03:30:00.123+02'::timestamptz AS at, current_setting('TimeZone') AS zone`,
  );
  expect(row).toEqual({ at, zone: 'UTC' });
});

test('every table is forced to row-level security with both policies, or is on the list', async () => {
  const client = identityClient(db.database);
  expect(await unprotectedTables(client)).toEqual([]);
  const tenantPolicy = "= current_setting('fairlead.organization_id'::text, true))";
  const metricTables = await client.$queryRaw<{ name: string }[]>`
    SELECT relname AS name FROM pg_class WHERE relkind = 'p' AND relnamespace = 'metric'::regnamespace`;
  expect(metricTables).toHaveLength(9);
  for (const table of [...(await tenantTables()), ...metricTables.map((row) => row.name)]) {
    const policies = await client.$queryRaw<{ name: string; roles: string[]; using: string; check: string }[]>`
      SELECT policyname::text AS name, roles::text[] AS roles, qual AS using, with_check AS check
      FROM pg_policies WHERE schemaname IN ('public', 'metric') AND tablename = ${table} ORDER BY policyname`;
    expect(
      policies.filter(({ name }) => name !== 'deleted_apps'),
      table,
    ).toEqual([
      { name: 'system', roles: ['fairlead_system'], using: 'true', check: 'true' },
      {
        name: 'tenant',
        roles: ['fairlead_tenant'],
        using: expect.stringContaining(tenantPolicy),
        check: expect.stringContaining(tenantPolicy),
      },
    ]);
  }
});

test('every table with the rows of an app hides those of deleted apps', async () => {
  const client = identityClient(db.database);
  const ofApps = await client.$queryRaw<{ name: string; hides: boolean }[]>`
    SELECT class.relname AS name, EXISTS (
      SELECT 1 FROM pg_policies WHERE policyname = 'deleted_apps' AND tablename = class.relname
        AND permissive = 'RESTRICTIVE' AND roles = '{fairlead_tenant}' AND cmd = 'ALL') AS hides
    FROM pg_class AS class JOIN pg_attribute AS attribute ON attribute.attrelid = class.oid
    WHERE class.relnamespace = 'public'::regnamespace AND class.relkind = 'r' AND attribute.attname IN ('app_id', 'placement_id')`;
  expect(ofApps.length).toBeGreaterThan(12);
  // The deletions themselves are what the policies read.
  expect(ofApps.filter(({ hides }) => !hides).map(({ name }) => name)).toEqual(['app_deletion']);
});

test('an organization neither sees nor adds rows of a deleted app, unless it asks for them', async () => {
  const { organizationId, environmentId } = mine;
  const [gone] = await db.database.system('test', (tx) => tx.appDeletion.findMany({ where: { organizationId } }));
  const appId = gone?.appId ?? '';
  const count = (visible: boolean) =>
    db.database.tenant(organizationId, async (tx) => {
      if (visible) await tx.$executeRaw`SELECT set_config('fairlead.deleted_apps', 'visible', true)`;
      return tx.app.count();
    });
  expect([await count(false), await count(true), await count(false)]).toEqual([1, 2, 1]);
  const adding = db.database.tenant(organizationId, (tx) =>
    tx.placement.create({ data: { id: newId('plc'), organizationId, appId, environmentId, branch: 'main' } }),
  );
  await expect(adding).rejects.toThrow(/row-level security policy "deleted_apps"/);
});

test('a table that was forgotten is found and stops the start', async () => {
  const client = identityClient(db.database);
  await client.$executeRaw`CREATE TABLE forgotten (organization_id text NOT NULL)`;
  try {
    expect(await unprotectedTables(client)).toEqual(['public.forgotten']);
    await expect(db.database.assertSafe()).rejects.toThrow('public.forgotten');
  } finally {
    await client.$executeRaw`DROP TABLE forgotten`;
  }
  await db.database.assertSafe();
});

test('an app has at most one running deployment in an environment', async () => {
  const start = (number: number, state: string) =>
    db.database.tenant(mine.organizationId, (tx) =>
      tx.deployment.create({
        data: {
          id: newId('dep'),
          organizationId: mine.organizationId,
          appId: mine.appId,
          environmentId: mine.environmentId,
          number,
          trigger: 'manual',
          state,
          ref: 'main',
        },
      }),
    );
  await start(101, 'building');
  await start(102, 'queued');
  await expect(start(103, 'rolling_out')).rejects.toMatchObject({ code: 'P2002' });
  await expect(start(104, 'no such state')).rejects.toThrow(/deployment_state_known/);
});

test('an organization is deleted with all its rows', async () => {
  const ending = await insertOrganizationRows(db.database, 'ending');
  await db.database.system('test', (tx) => tx.organization.delete({ where: { id: ending.organizationId } }));
  for (const table of await tenantTables()) {
    const rows = await db.database.tenant(ending.organizationId, (tx) => tx.$queryRaw(count(table)));
    expect(rows, table).toEqual([{ count: 0 }]);
  }
});
