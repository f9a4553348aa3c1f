import { type MetricResolution, metricResolutions, metricRetentionMs } from '@fairlead/contract/metrics';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { identityClient } from './identity.ts';
import { dropExpiredMetricPartitions, ensureMetricPartitions, Prisma } from './index.ts';
import { insertOrganizationRows, type OrganizationRows, type TestDatabase, testDatabase } from './testing-vitest.ts';

let db: TestDatabase;
let mine: OrganizationRows;
let theirs: OrganizationRows;
const dayMs = 24 * 60 * 60 * 1000;

beforeAll(async () => {
  db = await testDatabase();
  mine = await insertOrganizationRows(db.database, 'mine');
  theirs = await insertOrganizationRows(db.database, 'theirs');
});
afterAll(() => db.drop());

function insertSample(rows: OrganizationRows, at: Date, resolution: MetricResolution = '1s'): Prisma.Sql {
  return Prisma.sql`
    INSERT INTO ${Prisma.raw(`metric.app_${resolution}`)} (organization_id, app_id, environment_id, server_id, at,
      requests, errors, client_errors, latency, bytes_received, bytes_sent, cpu_millis_avg, memory_bytes_max, in_flight_max)
    VALUES (${rows.organizationId}, ${rows.appId}, ${rows.environmentId}, ${rows.serverId}, ${at},
      1, 0, 0, '', 0, 0, 0, 0, 0)`;
}

async function partitions(): Promise<readonly string[]> {
  const rows = await identityClient(db.database).$queryRaw<{ name: string }[]>`
    SELECT inhrelid::regclass::text AS name FROM pg_inherits
    WHERE inhparent IN (SELECT oid FROM pg_class WHERE relkind = 'p') ORDER BY 1`;
  return rows.map((row) => row.name);
}

test('current samples can be stored at once, in every resolution', async () => {
  const now = new Date();
  await db.database.system('test', async (tx) => {
    for (const resolution of metricResolutions) await tx.$executeRaw(insertSample(theirs, now, resolution));
  });
  const seen = await db.database.tenant(theirs.organizationId, (tx) => tx.$queryRaw`SELECT app_id FROM metric.app_1m`);
  expect(seen).toEqual([{ app_id: theirs.appId }]);
});

test('an organization reads its own samples, not those of another, and writes none', async () => {
  await db.database.system('test', (tx) => tx.$executeRaw(insertSample(theirs, new Date())));
  const seen = await db.database.tenant(mine.organizationId, (tx) => tx.$queryRaw`SELECT 1 FROM metric.app_1s`);
  expect(seen).toEqual([]);
  const written = db.database.tenant(mine.organizationId, (tx) => tx.$executeRaw(insertSample(mine, new Date())));
  await expect(written).rejects.toThrow(/permission denied/);
});

test('no scope reaches a partition past its parent', async () => {
  for (const partition of await partitions()) {
    const read = db.database.system('test', (tx) => tx.$queryRaw(Prisma.raw(`SELECT 1 FROM ${partition}`)));
    await expect(read, partition).rejects.toThrow(/permission denied/);
  }
});

test('partitions are made a week ahead, once, and back as far as requested', async () => {
  const now = new Date();
  const ensure = (from?: Date) => db.database.system('test', (tx) => ensureMetricPartitions(tx, now, from));
  await ensure();
  expect(await ensure()).toBe(0);
  const inSevenDays = new Date(now.getTime() + 7 * dayMs);
  await db.database.system('test', (tx) => tx.$executeRaw(insertSample(mine, inSevenDays)));

  const lastWeek = new Date(now.getTime() - 7 * dayMs);
  const tooEarly = db.database.system('test', (tx) => tx.$executeRaw(insertSample(mine, lastWeek, '1m')));
  await expect(tooEarly).rejects.toThrow(/no partition/);
  expect(await ensure(lastWeek)).toBeGreaterThan(0);
  await db.database.system('test', (tx) => tx.$executeRaw(insertSample(mine, lastWeek, '1m')));
});

test('two processes may make partitions concurrently', async () => {
  const from = new Date(Date.now() - 12 * dayMs);
  const ensure = () => db.database.system('test', (tx) => ensureMetricPartitions(tx, new Date(), from));
  const made = await Promise.all([ensure(), ensure()]);
  expect(made.filter((count) => count > 0)).toHaveLength(1);
});

test('partitions past their age go, younger ones stay', async () => {
  const before = await partitions();
  await identityClient(db.database).$executeRaw`
    CREATE TABLE metric.app_1s_p20200101 PARTITION OF metric.app_1s FOR VALUES FROM ('2020-01-01') TO ('2020-01-02')`;
  const dropped = await db.database.system('test', (tx) => dropExpiredMetricPartitions(tx));
  expect(dropped).toEqual(['app_1s_p20200101']);
  expect(await partitions()).toEqual(before);
});

test('tables are kept as long as the contract says', async () => {
  const rows = await identityClient(db.database).$queryRaw<{ name: string; keptMs: number }[]>`
    SELECT table_name AS name, (extract(epoch FROM kept) * 1000)::float8 AS "keptMs" FROM metric.kept_tables()`;
  const expected = metricResolutions.flatMap((resolution) =>
    ['app', 'server', 'route'].map((kind) => ({
      name: `${kind}_${resolution}`,
      keptMs: metricRetentionMs[resolution],
    })),
  );
  expect(rows).toEqual(expected);
});

test('upkeep is closed to an organization', async () => {
  const upkeep = db.database.tenant(mine.organizationId, (tx) => tx.$queryRaw`SELECT metric.drop_expired_partitions()`);
  await expect(upkeep).rejects.toThrow(/permission denied/);
});
