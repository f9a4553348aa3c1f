import { create } from '@bufbuild/protobuf';
import { FrameSchema } from '@fairlead/contract/agent';
import { bucketIndex, histogramToWire } from '@fairlead/contract/histogram';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { getApp } from '../app/index.ts';
import { forOrganization } from '../kernel/index.ts';
import { loadServers } from '../server/index.ts';
import { type CreatedTestApp, type TestWorld, testWorld } from '../testing/index.ts';
import { getAppMetric, getServerMetric, recordFrames } from './index.ts';

let db: TestDatabase;
let world: TestWorld;
let app: CreatedTestApp;
const slowUs = 80_000;

beforeAll(async () => {
  db = await testDatabase();
  world = await testWorld(db.database);
  app = await world.createApp('Shop');
  const { environmentId } = await world.tenant((ctx) => getApp(ctx, { slug: app.slug }, { localHttpsPort: 4443 }));
  const nowMs = world.clock.now().getTime();
  // Two minutes of 10 requests a second, one of them slow, one of them failed.
  const frames = Array.from({ length: 120 }, (_, second) =>
    create(FrameSchema, {
      agentUnixMs: BigInt(nowMs - (second + 1) * 1000),
      durationMs: 1000,
      host: {
        cpuMillis: 500,
        memoryUsedBytes: 1_000n,
        memoryTotalBytes: 4_000n,
        networkSentBytes: 2_000n,
        load1Millis: 250,
      },
      apps: [
        {
          appId: app.appId,
          environmentId,
          requests: 10,
          errors: 1,
          latency: histogramToWire({
            counts: new Map([
              [bucketIndex(1000), 9],
              [bucketIndex(slowUs), 1],
            ]),
            sumUs: 9 * 1000 + slowUs,
          }),
          cpuMillis: 200,
          memoryBytes: 64_000_000n,
          inFlight: 3,
        },
      ],
    }),
  );
  await world.system((ctx) =>
    recordFrames(forOrganization(ctx, world.organizationId), { serverId: world.serverId, frames, clockOffsetMs: 0 }),
  );
});
afterAll(() => db.drop());

test('a chart of an app shows rates, true quantiles, CPU and memory of each step', async () => {
  const metric = await world.tenant((ctx) => getAppMetric(ctx, { appId: app.appId, range: '15m' }));
  const last = metric.points.at(-1);
  expect(last).toMatchObject({
    requestsPerSecond: 10,
    errorsPerSecond: 1,
    cpuMillis: 200,
    memoryBytes: 64_000_000,
    inFlight: 3,
  });
  expect(last?.p50Ms).toBeCloseTo(1, 1);
  expect(last?.p95Ms).toBeGreaterThan(75);
  expect(metric.points[0]).toMatchObject({ requestsPerSecond: 0, p50Ms: null, cpuMillis: null });
  expect(metric.totals.requests).toBeGreaterThan(1100);
  expect(metric.totals.p99Ms).toBeGreaterThan(75);
});

test('a long range shows the last minutes although they are not rolled up yet', async () => {
  for (const range of ['24h', '7d'] as const) {
    const metric = await world.tenant((ctx) => getAppMetric(ctx, { appId: app.appId, range }));
    expect(metric.totals.requests, range).toBeGreaterThan(1100);
  }
});

test('lists show the last seconds and the last minutes', async () => {
  const shop = await world.tenant((ctx) => getApp(ctx, { slug: app.slug }, { localHttpsPort: 4443 }));
  expect(shop).toMatchObject({ requestsPerSecond: 10, errorsPerSecond: 1 });
  expect(shop.p99Ms).toBeGreaterThan(75);
  expect(shop.sparkline.filter((value) => value > 0).length).toBeGreaterThanOrEqual(2);
  const [server] = await world.tenant((ctx) => loadServers(ctx));
  expect(server).toMatchObject({ cpuMillis: 500, memoryUsedBytes: 1000, memoryTotalBytes: 4000 });
});

test('a chart of a server shows its samples and leaves empty what was not measured', async () => {
  const { points } = await world.tenant((ctx) => getServerMetric(ctx, { serverId: world.serverId, range: '15m' }));
  expect(points.at(-1)).toMatchObject({ cpuMillis: 500, networkSentPerSecond: 2000, load1: 0.25 });
  expect(points[0]).toMatchObject({ cpuMillis: null, networkSentPerSecond: null });
});
