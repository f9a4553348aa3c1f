import { PassThrough, Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type DumpManifest, dumpTables, restoreTables } from './dump.ts';
import { identityClient } from './identity.ts';
import { unprotectedTables } from './tables.ts';
import { insertOrganizationRows, type TestDatabase, testDatabase } from './testing-vitest.ts';

let source: TestDatabase;
let target: TestDatabase;
let manifest: DumpManifest;
const files = new Map<string, Promise<Buffer>>();

beforeAll(async () => {
  source = await testDatabase();
  target = await testDatabase();
  for (const slug of ['ada', 'bob']) {
    const { organizationId, appId, environmentId, serverId } = await insertOrganizationRows(source.database, slug);
    await source.database.system('test', async (tx) => {
      const at = new Date('2026-03-01T00:00:00Z');
      await tx.$executeRaw`SELECT metric.ensure_partitions(${at}::timestamptz, ${at}::timestamptz)`;
      await tx.$executeRaw`INSERT INTO metric.app_1h (organization_id, app_id, environment_id, server_id, at, requests, errors,
        client_errors, latency, bytes_received, bytes_sent, cpu_millis_avg, memory_bytes_max, in_flight_max)
        VALUES (${organizationId}, ${appId}, ${environmentId}, ${serverId}, ${at}, 7, 1, 0, '\\x00ff', 0, 0, 0, 0, 0)`;
    });
  }
  manifest = await dumpTables(source.url, (table) => {
    const stream = new PassThrough();
    files.set(table, buffer(stream));
    return stream;
  });
});
afterAll(async () => {
  await source.drop();
  await target.drop();
});

const open = (table: string) =>
  Readable.from(
    (async function* () {
      yield (await files.get(table)) ?? Buffer.alloc(0);
    })(),
  );

async function rowsOf(db: TestDatabase): Promise<Record<string, unknown>> {
  const rows: Record<string, unknown> = {};
  for (const { name, columns } of manifest.tables) {
    const query = `SELECT to_jsonb(t) AS row FROM ${name.replace(/\.(.*)/, '."$1"')} t ORDER BY 1`;
    const isIdentity = !columns.includes('organization_id');
    rows[name] = isIdentity
      ? await identityClient(db.database).$queryRawUnsafe(query)
      : await db.database.system('test', (tx) => tx.$queryRawUnsafe(query));
  }
  return rows;
}

test('every row of every table comes back, of every organization, and the tables are guarded as before', async () => {
  await restoreTables(target.url, manifest, open);
  const [before, after] = [await rowsOf(source), await rowsOf(target)];
  expect(after).toEqual(before);
  // Each organization has an app and a deleted one.
  expect(before['public.app']).toHaveLength(4);
  expect(before['public.app_deletion']).toHaveLength(2);
  expect(before['metric.app_1h']).toHaveLength(2);
  expect(before['public.user']).toHaveLength(2);
  expect(await unprotectedTables(identityClient(target.database))).toEqual([]);
  expect(manifest.samplesFrom).toBe('2026-03-01T00:00:00.000Z');
  expect(manifest.migrations.length).toBeGreaterThan(4);
});

test('rows that are there already are not mixed with those of a backup', async () => {
  await expect(restoreTables(target.url, manifest, open)).rejects.toThrow('is not empty');
});

test('an interrupted dump leaves nothing behind', async () => {
  const empty = await testDatabase();
  try {
    const cut = (table: string) => (table === 'public.app' ? Readable.from([Buffer.from('PGCOPY')]) : open(table));
    await expect(restoreTables(empty.url, manifest, cut)).rejects.toThrow(/COPY/);
    expect(await empty.database.system('test', (tx) => tx.organization.count())).toBe(0);
    expect(await unprotectedTables(identityClient(empty.database))).toEqual([]);
  } finally {
    await empty.drop();
  }
});

test('columns that count go on after the restored rows', async () => {
  const counted = await identityClient(source.database).$queryRaw<{ name: string }[]>`
    SELECT relname AS name FROM pg_class
    WHERE relkind = 'S' AND relnamespace IN ('public'::regnamespace, 'metric'::regnamespace)`;
  expect(counted).toEqual([{ name: 'webhook_delivery_sequence_seq' }]);
  const last = await target.database.system('test', (tx) => tx.webhookDelivery.aggregate({ _max: { sequence: true } }));
  const sequence = await identityClient(target.database).$queryRaw`
    SELECT last_value AS "last" FROM webhook_delivery_sequence_seq`;
  expect(sequence).toEqual([{ last: last._max.sequence }]);
});
