// Refusals of a run before it waits: an agent that is too old, an app that never sleeps, and paths of another app.
import type { Capability } from '@fairlead/contract/capabilities';
import type { AppId } from '@fairlead/contract/ids';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { updateConfig } from '../app/index.ts';
import { autoscalingSchema, updateConfigInputSchema } from '../config/index.ts';
import { attachDomain } from '../domain/index.ts';
import { auditEventsOf, type TestWorld, testHosts, testWorld } from '../testing/index.ts';
import { benchmarkPlanSchema, cancelBenchmark, createBenchmark } from './index.ts';

let db: TestDatabase;
let world: TestWorld;
let appId: AppId;

beforeAll(async () => {
  db = await testDatabase();
  world = await testWorld(db.database);
  appId = await liveApp('Shop');
});
afterAll(() => db.drop());

async function liveApp(name: string): Promise<AppId> {
  const app = await world.createApp(name, { host: `${name.toLowerCase()}.example.test` });
  await world.advance(app.deploymentId ?? '');
  await world.finish(app.deploymentId ?? '');
  return app.appId;
}

const report = (...capabilities: Capability[]) =>
  world.system(({ tx }) => tx.server.updateMany({ data: { capabilities } }));

/** Returns the error code of a start; null: the run waits, and is cancelled again. */
async function refusal(changes: object): Promise<string | null> {
  const plan = benchmarkPlanSchema.parse({ targets: ['proxy'], protocols: ['http1'], ...changes });
  await world.report({});
  try {
    const { runId } = await world.tenant((ctx) => createBenchmark(ctx, { appId, plan }));
    await world.tenant((ctx) => cancelBenchmark(ctx, { runId }));
    return null;
  } catch (error) {
    return (error as { code: string }).code;
  }
}

test('a plan that the agent is too old for is refused, and one that waits is not sent', async () => {
  const cases: readonly (readonly [Capability, object])[] = [
    ['benchmark', {}],
    ['benchmark.http3', { protocols: ['http3'] }],
    ['benchmark.godoxy', { upstream: 'lab', targets: ['godoxy'] }],
    ['benchmark.grpc', { upstream: 'lab', protocols: ['grpc'] }],
    ['benchmark.lab', { connection: 'fresh' }],
    ['benchmark.load', { load: { thinkTimeMs: 5 } }],
    ['benchmark.lab_release', { upstream: 'lab', labApp: { server: 'release' } }],
    ['benchmark.latency', { upstream: 'lab', scenario: 'latency' }],
    ['benchmark.scenarios', { upstream: 'lab', scenario: 'packet-loss' }],
    ['benchmark.workers', { load: { workers: 2 } }],
  ];
  const all = cases.map(([name]) => name);
  for (const [name, changes] of cases) {
    await report(...all.filter((other) => other !== name));
    expect(await refusal(changes), name).toBe('benchmark.unsupported');
    await report(...all);
    expect(await refusal(changes), name).toBeNull();
  }

  const start = (changes: object) => {
    const plan = benchmarkPlanSchema.parse({ protocols: ['http1'], ...changes });
    return world.tenant((ctx) => createBenchmark(ctx, { appId, plan }));
  };
  const plain = await start({});
  const paced = await start({ load: { thinkTimeMs: 5 } });
  const sent = async () => (await world.desired()).benchmarks.map(({ runId }) => runId);
  expect(await sent()).toEqual([plain.runId, paced.runId]);
  await report('benchmark');
  expect(await sent()).toEqual([plain.runId]);
  await report(...all);
  for (const { runId } of [plain, paced]) await world.tenant((ctx) => cancelBenchmark(ctx, { runId }));
});

test('a copy of the release is that of the start, and an app with volumes or a socket has none', async () => {
  const copy = benchmarkPlanSchema.parse({ upstream: 'lab', labApp: { server: 'release' }, path: '/orders' });
  await world.report({});
  const { runId } = await world.tenant((ctx) => createBenchmark(ctx, { appId, plan: copy }));
  const [sent] = (await world.desired()).benchmarks;
  const { liveReleaseId: releaseId } = await world.system(({ tx }) =>
    tx.placementServer.findFirstOrThrow({ where: { placement: { appId } } }),
  );
  expect(sent).toMatchObject({ host: 'shop.example.test', path: '/orders', lab: { releaseId } });
  expect((await auditEventsOf(world)).at(-1)).toMatchObject({
    action: 'benchmark.create',
    after: { copiedReleaseId: releaseId },
  });
  await world.tenant((ctx) => cancelBenchmark(ctx, { runId }));
  expect(await refusal({ ...copy, host: 'other.example.test' })).toBe('benchmark.no_domain');

  const volumes = [{ name: 'data', path: '/data', snapshots: 'off' as const }];
  for (const settings of [{ volumes }, { listen: 'socket' as const }]) {
    const { configId } = await world.tenant((ctx) => updateConfig(ctx, { appId, settings }));
    expect(await refusal(copy), 'the live release has other settings').toBeNull();
    await world.system(({ tx }) => tx.release.updateMany({ where: { id: releaseId ?? '' }, data: { configId } }));
    expect(await refusal(copy), JSON.stringify(settings)).toBe('benchmark.not_copyable');
    await world.system(({ tx }) => tx.release.updateMany({ where: { id: releaseId ?? '' }, data: { configId: null } }));
    await world.tenant((ctx) => updateConfig(ctx, { appId, settings: { volumes: [], listen: 'auto' } }));
  }
});

test('an app that never sleeps has no wake', async () => {
  const wake = { scenario: 'wake' };
  expect(await refusal(wake)).toBe('benchmark.never_sleeps');
  for (const [instancesMin, code] of [
    [1, 'benchmark.never_sleeps'],
    [0, null],
  ] as const) {
    const autoscaling = autoscalingSchema.parse({ instancesMin, instancesMax: 2 });
    await world.tenant((ctx) => updateConfig(ctx, { appId, settings: { autoscaling } }));
    expect(await refusal(wake)).toBe(code);
  }
});

test('gRPC is measured only of an app that speaks HTTP/2', async () => {
  await report('benchmark', 'benchmark.grpc', 'benchmark.load');
  const calls = { protocols: ['grpc'], path: '/shop.Cart/Get' };
  expect(await refusal(calls)).toBe('benchmark.no_grpc');
  const settings = updateConfigInputSchema.parse({ appId, settings: { traffic: { upstreamProtocol: 'http2' } } });
  await world.tenant((ctx) => updateConfig(ctx, settings));
  expect(await refusal(calls)).toBeNull();
});

test('paths of another app on the same host are refused', async () => {
  const other = await liveApp('Blog');
  const host = 'shop.example.test';
  await world.tenant((ctx) => attachDomain(ctx, { appId: other, host, pathPrefix: '/blog' }, testHosts));
  await world.tenant((ctx) => attachDomain(ctx, { appId, host, pathPrefix: '/blog/own' }, testHosts));
  for (const path of ['/', '/blogs', '/?next=/blog', '/blog/own/a']) expect(await refusal({ path }), path).toBeNull();
  for (const path of ['/blog', '/blog/a', '/blog?a', '/blog#a', '/blog/../a']) {
    expect(await refusal({ path }), path).toBe('benchmark.foreign_path');
  }
  expect(await refusal({ load: { requests: [{ path: '/' }, { path: '/blog/a' }] } })).toBe('benchmark.foreign_path');
  expect(await refusal({ host: 'blog.example.test' })).toBe('benchmark.no_domain');
});
