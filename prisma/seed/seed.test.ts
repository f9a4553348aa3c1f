import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { decodeHistogram, histogramCount, quantileMs } from '@fairlead/contract/histogram';
import { storedPlanSchema } from '@fairlead/core/benchmark/schema';
import { createFolderLogStore, decodeLogLines } from '@fairlead/core/log';
import { hostInfoSchema } from '@fairlead/core/server/schema';
import { insertOrganizationRows, type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Seeded, seedDemo } from './seed.ts';

let db: TestDatabase;
let logStoreDir: string;
let existing: string;
let seeded: Seeded;
let askedAt: number;

beforeAll(async () => {
  db = await testDatabase();
  logStoreDir = await mkdtemp(join(tmpdir(), 'fairlead-seed-logs-'));
  existing = (await insertOrganizationRows(db.database, 'first')).organizationId;
  askedAt = Date.now();
  seeded = await seedDemo({ url: db.url, logStoreDir, note: () => {} });
});
afterAll(async () => {
  await db.drop();
  await rm(logStoreDir, { recursive: true });
});

test('the demo joins the organization that is there, beside what it has', async () => {
  expect(seeded.organizationId).toBe(existing);
  const names = await db.database.tenant(existing, (tx) => tx.app.findMany({ select: { name: true } }));
  expect(names.length).toBe(9);
  expect(names).toContainEqual({ name: 'Hello' });
});

test('an organization that nobody claimed yet stays without members', async () => {
  const fresh = await testDatabase();
  try {
    const { organizationId } = await seedDemo({ url: fresh.url, logStoreDir: null, note: () => {} });
    expect(await fresh.database.tenant(organizationId, (tx) => tx.member.count())).toBe(0);
    expect(await fresh.database.tenant(organizationId, (tx) => tx.deployment.count())).toBeGreaterThan(100);
  } finally {
    await fresh.drop();
  }
});

test('a second load is refused in a sentence', async () => {
  const again = seedDemo({ url: db.url, logStoreDir, note: () => {} });
  await expect(again).rejects.toThrow('The organization "first" has the demo already.');
});

test('stored plans and hosts are what the product reads', async () => {
  await db.database.tenant(existing, async (tx) => {
    const runs = await tx.benchmarkRun.findMany({ where: { rowsDone: { gt: 0 } } });
    expect(runs.length).toBeGreaterThan(4);
    for (const run of runs) storedPlanSchema.parse(run.plan);
    const servers = await tx.server.findMany({ where: { connectedGateway: 'seed' } });
    for (const server of servers) expect(hostInfoSchema.parse(server.hostInfo).cpuCount).toBeGreaterThan(0);
  });
});

test('charts have every range up to now, with latencies that belong to their requests', async () => {
  for (const [table, ageMs] of [
    ['app_1s', 3_000],
    ['app_1m', 122_000],
    ['app_1h', 7_202_000],
  ] as const) {
    const rows = await db.database.tenant(existing, (tx) =>
      tx.$queryRawUnsafe<{ at: Date; requests: bigint; latency: Uint8Array }[]>(
        `SELECT at, requests, latency FROM metric.${table} WHERE requests > 100 OR '${table}' = 'app_1s' ORDER BY at DESC LIMIT 20`,
      ),
    );
    expect(rows).toHaveLength(20);
    expect(rows[0]?.at.getTime(), table).toBeGreaterThan(askedAt - ageMs);
    for (const { requests, latency } of rows) {
      const histogram = decodeHistogram(latency);
      expect(histogramCount(histogram)).toBe(Number(requests));
      if (requests > 100n) {
        expect(quantileMs(histogram, 0.99)).toBeGreaterThan(quantileMs(histogram, 0.5) ?? Number.NaN);
      }
    }
  }
});

test('the log of a deployment can be read', async () => {
  const chunk = await db.database.tenant(existing, (tx) =>
    tx.logChunk.findFirstOrThrow({ where: { objectKey: { endsWith: '.zst' }, deployment: { state: 'live' } } }),
  );
  const bytes = await createFolderLogStore(logStoreDir).get(chunk.objectKey);
  const lines = await decodeLogLines(bytes ?? new Uint8Array());
  expect(lines).toHaveLength(chunk.lineCount);
  expect(lines[0]?.step).toBe('queue');
});
