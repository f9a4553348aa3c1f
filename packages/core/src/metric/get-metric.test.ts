import { create } from '@bufbuild/protobuf';
import { FrameSchema, RouteSampleSchema } from '@fairlead/contract/agent';
import { bucketIndex, histogramToWire } from '@fairlead/contract/histogram';
import { newId } from '@fairlead/contract/ids';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { getApp, listApps } from '../app/index.ts';
import { forOrganization } from '../kernel/index.ts';
import { attachServer } from '../placement/index.ts';
import { loadServers } from '../server/index.ts';
import { type CreatedTestApp, type TestWorld, testWorld } from '../testing/index.ts';
import { getAppMetric, getServerMetric, listRouteMetrics, recordFrames } from './index.ts';

let db: TestDatabase;
let world: TestWorld;
let app: CreatedTestApp;
const slowUs = 80_000;
let environmentId: string;

beforeAll(async () => {
  db = await testDatabase();
  world = await testWorld(db.database);
  app = await world.createApp('Shop');
  ({ environmentId } = await world.tenant((ctx) =>
    getApp(ctx, { slug: app.slug }, { localHttpsPort: 4443, localHttpPort: 4480 }),
  ));
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
          clientErrors: 2,
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
      routes: [
        routeSample('shop.test', '/', 7, 1000),
        routeSample('shop.test', '/api', 2, slowUs, { errors: 1, clientErrors: 1 }),
        routeSample('', '', 1, 1000),
        { ...routeSample('other.test', '/', 99, 1000), appId: 'app_of_another_server' },
      ],
    }),
  );
  await world.system((ctx) =>
    recordFrames(forOrganization(ctx, world.organizationId), { serverId: world.serverId, frames, clockOffsetMs: 0 }),
  );
});
afterAll(() => db.drop());

function routeSample(host: string, pathPrefix: string, requests: number, latencyUs: number, change = {}) {
  const latency = histogramToWire({
    counts: new Map([[bucketIndex(latencyUs), requests]]),
    sumUs: latencyUs * requests,
  });
  return create(RouteSampleSchema, { appId: app.appId, environmentId, host, pathPrefix, requests, latency, ...change });
}

test('an app’s routes are listed separately, the busiest first, with their own quantiles', async () => {
  for (const range of ['15m', '24h'] as const) {
    const { routes, from, to } = await world.tenant((ctx) => listRouteMetrics(ctx, { appId: app.appId, range }));
    expect(to.getTime() - from.getTime()).toBe(range === '15m' ? 900_000 : 86_400_000);
    // Routes add up to the totals of the chart beside them.
    const { totals } = await world.tenant((ctx) => getAppMetric(ctx, { appId: app.appId, range }));
    const seconds = totals.requests / 10;
    expect(routes.map(({ host, pathPrefix, requests }) => [host, pathPrefix, requests])).toEqual([
      ['shop.test', '/', 7 * seconds],
      ['shop.test', '/api', 2 * seconds],
      ['', '', seconds],
    ]);
    expect(routes[0]?.p99Ms).toBeCloseTo(1, 1);
    expect(routes[1]).toMatchObject({ errors: seconds, clientErrors: seconds });
    expect(routes[1]?.p50Ms).toBeGreaterThan(75);
  }
});

test('routes that no agent has are refused', async () => {
  const long = `/${'x'.repeat(2048)}`;
  for (const [host, path] of [
    ['shop.test\0', '/'],
    ['SHOP.test', '/'],
    ['shop.test', '/a b'],
    ['shop.test', long],
  ] as const) {
    const frame = create(FrameSchema, {
      agentUnixMs: BigInt(world.clock.now().getTime()),
      routes: [routeSample(host, path, 1, 1000)],
    });
    const recorded = world.system((ctx) =>
      recordFrames(forOrganization(ctx, world.organizationId), {
        serverId: world.serverId,
        frames: [frame],
        clockOffsetMs: 0,
      }),
    );
    await expect(recorded).rejects.toMatchObject({ code: 'link.malformed' });
  }
});

test('a chart of an app shows rates, true quantiles, CPU and memory of each step', async () => {
  const metric = await world.tenant((ctx) => getAppMetric(ctx, { appId: app.appId, range: '15m' }));
  const last = metric.points.at(-1);
  expect(last).toMatchObject({
    requestsPerSecond: 10,
    errorsPerSecond: 1,
    clientErrorsPerSecond: 2,
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

test('a period between two times has its own totals, and the one before it none', async () => {
  const to = world.clock.now();
  const from = new Date(to.getTime() - 60_000);
  const metric = await world.tenant((ctx) => getAppMetric(ctx, { appId: app.appId, from, to }));
  expect(metric.totals.requests).toBe(10 * ((metric.to.getTime() - metric.from.getTime()) / 1000));
  expect(metric.totals.clientErrors).toBe(metric.totals.requests / 5);
  const hour = { appId: app.appId, range: '1h', previous: true } as const;
  expect((await world.tenant((ctx) => getAppMetric(ctx, hour))).totals.requests).toBe(0);
});

test('lists show the last seconds and the last minutes', async () => {
  const shop = await world.tenant((ctx) =>
    getApp(ctx, { slug: app.slug }, { localHttpsPort: 4443, localHttpPort: 4480 }),
  );
  expect(shop).toMatchObject({ requestsPerSecond: 10, errorsPerSecond: 1 });
  expect(shop.p99Ms).toBeGreaterThan(75);
  expect(shop.sparkline.filter((value) => value > 0).length).toBeGreaterThanOrEqual(2);
  const [server] = await world.tenant((ctx) => loadServers(ctx));
  expect(server).toMatchObject({ cpuMillis: 500, memoryUsedBytes: 1000, memoryTotalBytes: 4000 });
});

test('a chart of a server shows its samples and leaves gaps without samples empty', async () => {
  const { points } = await world.tenant((ctx) => getServerMetric(ctx, { serverId: world.serverId, range: '15m' }));
  expect(points.at(-1)).toMatchObject({ cpuMillis: 500, networkSentPerSecond: 2000, load1: 0.25 });
  expect(points[0]).toMatchObject({ cpuMillis: null, networkSentPerSecond: null });
});

test('a chart of an app on several servers adds up their rates and use, and merges their quantiles', async () => {
  const second = newId('srv');
  const { organizationId } = world;
  const at = world.clock.now();
  await world.system(({ tx }) =>
    tx.server.create({ data: { id: second, organizationId, name: 'edge', publicKey: new Uint8Array(32).fill(7) } }),
  );
  const latency = histogramToWire({ counts: new Map([[bucketIndex(2 * slowUs), 30]]), sumUs: 60 * slowUs });
  const frames = Array.from({ length: 120 }, (_, index) =>
    create(FrameSchema, {
      agentUnixMs: BigInt(at.getTime() - (index + 1) * 1000),
      durationMs: 1000,
      apps: [{ appId: app.appId, environmentId, requests: 30, latency, cpuMillis: 100, memoryBytes: 1_000_000n }],
      routes: [routeSample('shop.test', '/', 30, slowUs)],
    }),
  );
  const routes = () => world.tenant((ctx) => listRouteMetrics(ctx, { appId: app.appId, range: '1h' }));
  const before = (await routes()).routes[0]?.requests ?? 0;
  await world.tenant((ctx) => attachServer(ctx, { appId: app.appId, serverId: second }));
  await world.system((ctx) =>
    recordFrames(forOrganization(ctx, organizationId), { serverId: second, frames, clockOffsetMs: 0 }),
  );
  const { points } = await world.tenant((ctx) => getAppMetric(ctx, { appId: app.appId, range: '15m' }));
  const last = points.at(-1);
  expect(last).toMatchObject({ requestsPerSecond: 40, errorsPerSecond: 1, cpuMillis: 300, memoryBytes: 65_000_000 });
  // Nine of forty requests were fast: the median is that of the other server.
  expect(last?.p50Ms).toBeGreaterThan(75);
  expect((await routes()).routes[0]?.requests).toBe((before / 7) * 37);

  const [listed] = (
    await world.tenant((ctx) => listApps(ctx, { limit: 1 }, { localHttpsPort: 4443, localHttpPort: 4480 }))
  ).items;
  expect(listed).toMatchObject({ serverCount: 2, requestsPerSecond: 40, errorsPerSecond: 1 });
  const busiest = Math.max(...(listed?.sparkline ?? []));
  expect(busiest).toBeCloseTo(40, 0);
  // The slowest are the other server's.
  expect(listed?.p99Ms).toBeGreaterThan(150);
});
