import { create } from '@bufbuild/protobuf';
import {
  AppSampleSchema,
  FrameSchema,
  HistogramSchema,
  HostSampleSchema,
  RouteSampleSchema,
} from '@fairlead/contract/agent';
import { bucketIndex, decodeHistogram, histogramToWire, quantileUs } from '@fairlead/contract/histogram';
import { parseId } from '@fairlead/contract/ids';
import { insertOrganizationRows, type OrganizationRows, type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { forOrganization, type Log, type SystemCtx } from '../kernel/index.ts';
import type { AppMetricRow, RouteMetricRow } from './merge-samples.ts';
import { recordFrames } from './record-frames.ts';
import { rollUpMetrics } from './roll-up-metrics.ts';

let db: TestDatabase;
let rows: OrganizationRows;
const complaints: string[] = [];
const log: Log = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: (_, message) => {
    complaints.push(message);
  },
};
const hourMs = 3_600_000;
// The whole hour before this one, so that its partitions exist and it is complete.
const hour = Math.floor(Date.now() / hourMs) * hourMs - hourMs;

beforeAll(async () => {
  db = await testDatabase();
  rows = await insertOrganizationRows(db.database, 'acme');
});
afterAll(() => db.drop());

function at<T>(now: number, work: (ctx: SystemCtx) => Promise<T>): Promise<T> {
  return db.database.system('test', (tx) => work({ tx, log, clock: { now: () => new Date(now) } }));
}

function record(
  unixMs: number,
  latencyUs: number,
  requests: number,
  change: { cpuMillis?: number; of?: OrganizationRows } = {},
): Promise<unknown> {
  const { appId, environmentId, serverId, organizationId } = change.of ?? rows;
  const counts = new Map([[bucketIndex(latencyUs), requests]]);
  const latency = histogramToWire({ counts, sumUs: latencyUs * requests });
  const cpuMillis = change.cpuMillis ?? 100;
  const sample = create(AppSampleSchema, { appId, environmentId, requests, latency, cpuMillis, memoryBytes: 7n });
  const host = create(HostSampleSchema, { cpuMillis, networkSentBytes: 10n, openConnections: requests });
  const routes = ['/', '/api'].map((pathPrefix) =>
    create(RouteSampleSchema, { appId, environmentId, host: 'a.test', pathPrefix, requests, errors: 1, latency }),
  );
  const frame = create(FrameSchema, { agentUnixMs: BigInt(unixMs), durationMs: 1000, host, apps: [sample], routes });
  return at(unixMs, (ctx) =>
    recordFrames(forOrganization(ctx, parseId('org', organizationId)), { serverId, frames: [frame], clockOffsetMs: 0 }),
  );
}

async function rollUpAll(now: number): Promise<void> {
  while (await at(now, rollUpMetrics));
}

async function appRow(table: '1m' | '1h', unixMs: number, appId = rows.appId): Promise<AppMetricRow | undefined> {
  const time = new Date(unixMs);
  const found = await at(unixMs, ({ tx }) =>
    table === '1m'
      ? tx.$queryRaw<AppMetricRow[]>`SELECT * FROM metric.app_1m WHERE app_id = ${appId} AND at = ${time}`
      : tx.$queryRaw<AppMetricRow[]>`SELECT * FROM metric.app_1h WHERE app_id = ${appId} AND at = ${time}`,
  );
  return found[0];
}

test('a minute is rolled up when it is over: sums, weighed averages, and quantiles of the merged histograms', async () => {
  for (let second = 0; second < 10; second += 1) await record(hour + second * 1000, second < 9 ? 1000 : 900_000, 10);
  await rollUpAll(hour + 59_000);
  expect(await appRow('1m', hour)).toBeUndefined();
  await rollUpAll(hour + 64_000);
  const minute = await appRow('1m', hour);
  expect(minute).toMatchObject({ seconds: 10, requests: 100n, cpu_millis_avg: 100, memory_bytes_max: 7n });
  const latency = decodeHistogram(minute?.latency ?? new Uint8Array());
  expect(quantileUs(latency, 0.9)).toBeLessThan(1100);
  expect(quantileUs(latency, 0.95)).toBeGreaterThan(800_000);
});

test('routes are rolled up each by itself', async () => {
  const found = await at(
    hour,
    ({ tx }) => tx.$queryRaw<(RouteMetricRow & { at: Date })[]>`SELECT * FROM metric.route_1m ORDER BY at, path_prefix`,
  );
  expect(found).toMatchObject([
    { host: 'a.test', path_prefix: '/', seconds: 10, requests: 100n, errors: 10n, at: new Date(hour) },
    { host: 'a.test', path_prefix: '/api', seconds: 10, requests: 100n, errors: 10n, at: new Date(hour) },
  ]);
  expect(quantileUs(decodeHistogram(found[1]?.latency ?? new Uint8Array()), 0.95)).toBeGreaterThan(800_000);
});

test('late samples are rolled up again into the same row, and the hour follows', async () => {
  await record(hour + 20_000, 1000, 50, { cpuMillis: 1200 });
  await record(hour + 120_000, 1000, 1);
  await rollUpAll(hour + 2 * hourMs);
  expect(await appRow('1m', hour)).toMatchObject({ seconds: 11, requests: 150n, cpu_millis_avg: 200 });
  expect(await appRow('1h', hour)).toMatchObject({ seconds: 12, requests: 151n });
  const routes = await at(hour, ({ tx }) => tx.$queryRaw<object[]>`SELECT seconds, requests FROM metric.route_1h`);
  expect(routes).toEqual([
    { seconds: 12, requests: 151n },
    { seconds: 12, requests: 151n },
  ]);
  const servers = await at(
    hour,
    ({ tx }) => tx.$queryRaw<object[]>`SELECT seconds, network_sent_bytes, open_connections_max FROM metric.server_1h`,
  );
  expect(servers).toEqual([{ seconds: 12, network_sent_bytes: 120n, open_connections_max: 50 }]);
});

test('rolling up twice, or with nothing due, changes nothing', async () => {
  const before = [await appRow('1m', hour), await appRow('1h', hour)];
  await rollUpAll(hour + 2 * hourMs);
  expect([await appRow('1m', hour), await appRow('1h', hour)]).toEqual(before);
  const due = await at(hour, ({ tx }) => tx.$queryRaw<object[]>`SELECT * FROM metric.roll_up_due`);
  expect(due).toEqual([]);
});

test('no amount that an agent can claim overflows a sum', async () => {
  const minute = hour + 900_000;
  const { appId, environmentId, serverId, organizationId } = rows;
  const [amount, count] = [2n ** 64n - 1n, 2n ** 53n - 1n];
  const latency = create(HistogramSchema, { index: [5], count: [count], sumUs: count });
  const sample = { appId, environmentId, requests: 2 ** 32 - 1, latency, bytesSent: amount, memoryBytes: amount };
  const host = { cpuMillis: 2 ** 32 - 1, networkReceivedBytes: amount, diskUsedBytes: amount };
  const frames = Array.from({ length: 60 }, (_, second) =>
    create(FrameSchema, {
      agentUnixMs: BigInt(minute + second * 1000),
      durationMs: 2 ** 32 - 1,
      host: create(HostSampleSchema, host),
      apps: [create(AppSampleSchema, sample)],
    }),
  );
  await at(minute, (ctx) =>
    recordFrames(forOrganization(ctx, parseId('org', organizationId)), { serverId, frames, clockOffsetMs: 0 }),
  );
  await rollUpAll(minute + 2 * hourMs);
  const row = await appRow('1m', minute);
  expect(row).toMatchObject({ seconds: 3600, requests: 60n * (2n ** 32n - 1n) });
  expect(quantileUs(decodeHistogram(row?.latency ?? new Uint8Array()), 0.99)).toBe(5);
});

test("a server whose rows cannot be rolled up does not hold up another organization's", async () => {
  const minute = hour + 1_200_000;
  const other = await insertOrganizationRows(db.database, 'globex');
  await record(minute, 1000, 3);
  await record(minute, 1000, 4, { of: other });
  await at(minute, async ({ tx }) => {
    await tx.$executeRaw`UPDATE metric.app_1s SET latency = '\\xff' WHERE app_id = ${rows.appId} AND at = ${new Date(minute)}`;
  });
  await rollUpAll(minute + 2 * hourMs);
  expect(complaints).toEqual(["a server's metrics could not be rolled up and are left out"]);
  expect(await appRow('1m', minute, other.appId)).toMatchObject({ requests: 4n });
  expect(await appRow('1m', minute)).toBeUndefined();
  expect(await at(hour, ({ tx }) => tx.$queryRaw<object[]>`SELECT * FROM metric.roll_up_due`)).toEqual([]);
});

test('samples that are being written while a roll-up runs are not lost', async () => {
  const minute = hour + 600_000;
  await record(minute, 1000, 1);
  const { appId, environmentId, serverId, organizationId } = rows;
  const [written, proceed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const late = at(minute + 1000, async (ctx) => {
    const sample = create(AppSampleSchema, { appId, environmentId, requests: 5 });
    const frame = create(FrameSchema, { agentUnixMs: BigInt(minute + 1000), durationMs: 1000, apps: [sample] });
    const scope = forOrganization(ctx, parseId('org', organizationId));
    await recordFrames(scope, { serverId, frames: [frame], clockOffsetMs: 0 });
    written.resolve();
    await proceed.promise;
  });
  await written.promise;
  await rollUpAll(minute + 2 * hourMs);
  proceed.resolve();
  await late;
  await rollUpAll(minute + 2 * hourMs);
  expect(await appRow('1m', minute)).toMatchObject({ requests: 6n });
});
