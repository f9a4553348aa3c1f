import { create } from '@bufbuild/protobuf';
import {
  BenchmarkProtocol,
  type BenchmarkRow,
  BenchmarkRowSchema,
  BenchmarkStatusSchema,
  BenchmarkTarget,
  InstanceState,
  type InstanceStatus,
  InstanceStatusSchema,
  NetworkPath,
  ReportSchema,
  WorkState,
} from '@fairlead/contract/agent';
import { histogramToWire } from '@fairlead/contract/histogram';
import { type AppId, newId } from '@fairlead/contract/ids';
import { insertOrganizationRows, type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { getApp } from '../app/index.ts';
import {
  benchmarkPlanSchema,
  cancelBenchmark,
  createBenchmark,
  exportBenchmark,
  failOverdueBenchmarks,
  getBenchmark,
  listBenchmarks,
} from '../benchmark/index.ts';
import { createDeployment } from '../deployment/index.ts';
import { getServer } from '../server/index.ts';
import { type TestWorld, testWorld } from '../testing/index.ts';
import { recordReport } from './index.ts';

let db: TestDatabase;
let world: TestWorld;
let appId: AppId;
let slug: string;

beforeAll(async () => {
  db = await testDatabase();
  world = await testWorld(db.database);
  const app = await world.createApp('Shop', { host: 'shop.example.test' });
  appId = app.appId;
  slug = app.slug;
  await world.advance(app.deploymentId ?? '');
  await world.finish(app.deploymentId ?? '');
});
afterAll(() => db.drop());

const links = { localHttpsPort: 4443, localHttpPort: 4480 };
const getShop = () => world.tenant((ctx) => getApp(ctx, { slug }, links));
const plan = benchmarkPlanSchema.parse({ concurrency: [8], durationMs: 1000, protocols: ['http1'], repeats: 1 });
const startRun = async (changes: Partial<typeof plan> = {}) =>
  (await world.tenant((ctx) => createBenchmark(ctx, { appId, plan: { ...plan, ...changes } }))).runId;

async function instance(
  changes: Omit<Partial<InstanceStatus>, '$typeName' | '$unknown'> = {},
): Promise<InstanceStatus> {
  const shop = await getShop();
  return create(InstanceStatusSchema, {
    instanceId: newId('ins'),
    appId,
    environmentId: shop.environmentId,
    releaseId: shop.liveRelease?.id ?? '',
    state: InstanceState.HEALTHY,
    pid: 4711,
    port: 20_001,
    startedUnixMs: BigInt(world.clock.now().getTime()),
    ...changes,
  });
}

function row(position: number, requests: bigint): BenchmarkRow {
  return create(BenchmarkRowSchema, {
    position,
    round: 1,
    target: position === 0 ? BenchmarkTarget.PROXY : BenchmarkTarget.DIRECT,
    protocol: BenchmarkProtocol.HTTP1,
    networkPath: NetworkPath.OWN_NETWORK,
    concurrency: 8,
    durationMs: 2000,
    requests,
    latency: histogramToWire({ counts: new Map([[20, Number(requests)]]), sumUs: 20 * Number(requests) }),
    proxyCpuUs: position === 0 ? requests * 30n : 0n,
  });
}

test('instances follow the last report, and the app is as healthy as they are', async () => {
  const one = await instance();
  await world.report({ instances: [one] });
  expect(await getShop()).toMatchObject({
    status: 'healthy',
    instances: [{ id: one.instanceId, state: 'healthy', port: 20_001 }],
  });
  await world.report({
    instances: [{ ...one, state: InstanceState.CRASHED, detail: 'It ended\0: no `x` in PATH (/opt/x:/bin).' }],
  });
  expect(await getShop()).toMatchObject({
    status: 'unhealthy',
    instances: [{ state: 'crashed', detail: 'It ended: no `x` in PATH.' }],
  });
  await world.report({ instances: [] });
  expect((await getShop()).instances).toEqual([]);
});

test('instances of foreign apps, releases or servers are left out', async () => {
  const foreign = await insertOrganizationRows(db.database, 'rival');
  const theirs = await world.system(({ tx }) => tx.instance.findFirstOrThrow({ where: { appId: foreign.appId } }));
  await world.report({
    instances: [
      await instance({ appId: foreign.appId, environmentId: foreign.environmentId, releaseId: foreign.releaseId }),
      await instance({ releaseId: newId('rel') }),
      await instance({ instanceId: theirs.id, state: InstanceState.STOPPED }),
      await instance({ instanceId: 'nonsense' }),
    ],
  });
  expect((await getShop()).instances).toEqual([]);
  expect(await world.system(({ tx }) => tx.instance.findUnique({ where: { id: theirs.id } }))).toEqual(theirs);
});

test('a report has the applied version and the reason of a refusal', async () => {
  const { version } = await world.desired();
  const send = (parts: object) =>
    world.system((ctx) => recordReport(ctx, { serverId: world.serverId, report: create(ReportSchema, parts) }));
  const server = () => world.tenant((ctx) => getServer(ctx, { serverId: world.serverId }));
  await send({ applied: version });
  expect(await server()).toMatchObject({ inSync: true, refusedReason: null });
  await send({ applied: version, refused: { code: 'state.capability_missing', message: 'Upgrade the agent.' } });
  expect(await server()).toMatchObject({ refusedReason: 'Upgrade the agent.' });
  await send({ applied: version });
  expect(await server()).toMatchObject({ refusedReason: null });
});

test('a report has the agent’s findings on the firewall of apps', async () => {
  const send = (parts: object) =>
    world.system((ctx) => recordReport(ctx, { serverId: world.serverId, report: create(ReportSchema, parts) }));
  const network = async () => (await world.tenant((ctx) => getServer(ctx, { serverId: world.serverId }))).network;
  await send({ network: { warnings: ['Apps may lack the internet.'] } });
  expect(await network()).toEqual({ warnings: ['Apps may lack the internet.'], repair: null });
  await send({ network: { repair: 'The firewall was put back.', repairedUnixMs: 5n } });
  expect(await network()).toEqual({ warnings: [], repair: { text: 'The firewall was put back.', unixMs: 5 } });
  await send({ network: { warnings: Array.from({ length: 50 }, () => 'x'.repeat(5000)) } });
  expect(await network()).toMatchObject({ warnings: Array.from({ length: 10 }, () => expect.any(String)) });
  // The agent was started with --network shared.
  await send({});
  expect(await network()).toBeNull();
});

test('a benchmark is sent to the server, its rows are stored once, and its best row is returned', async () => {
  const runId = await startRun();
  expect((await world.desired()).benchmarks).toMatchObject([
    {
      runId,
      host: 'shop.example.test',
      path: '/',
      concurrency: [8],
      targets: [BenchmarkTarget.PROXY, BenchmarkTarget.DIRECT],
    },
  ]);

  const status = (state: WorkState, rows: BenchmarkRow[]) =>
    create(BenchmarkStatusSchema, { runId, state, rowsDone: rows.length, rowsTotal: 2, rows });
  await world.report({ benchmarks: [status(WorkState.RUNNING, [row(0, 4000n)])] });
  await world.report({ benchmarks: [status(WorkState.RUNNING, [row(0, 4000n)])] });
  await world.report({ benchmarks: [status(WorkState.SUCCEEDED, [row(0, 4000n), row(1, 9000n)])] });
  const run = await world.tenant((ctx) => getBenchmark(ctx, { runId }));
  expect(run).toMatchObject({
    state: 'succeeded',
    rowsDone: 2,
    rowsTotal: 2,
    bestRequestsPerSecond: 2000,
    canCancel: false,
  });
  expect(run.rows).toMatchObject([
    { target: 'proxy', networkPath: 'own-network', requestsPerSecond: 2000, p99Ms: 0.02, cpuUsPerRequest: 30 },
    { target: 'direct', requestsPerSecond: 4500, cpuUsPerRequest: null },
  ]);
  const exported = await world.tenant((ctx) => exportBenchmark(ctx, { runId }));
  expect(exported).toMatchObject({ format: 'fairlead-benchmark-2', runId, facts: run.facts, plan: run.plan });
  expect(exported.rows).toMatchObject([
    { position: 0, target: 'proxy', requests: 4000, latency: { buckets: [[20, 21, 4000]] } },
    { position: 1, target: 'direct', requests: 9000 },
  ]);
  expect((await world.desired()).benchmarks).toEqual([]);
  expect((await world.tenant((ctx) => listBenchmarks(ctx, { appId, limit: 1 }))).items).toMatchObject([{ id: runId }]);
});

test('the thresholds of a plan decide the outcome of its run, on its page, in the list and in its document', async () => {
  const outcome = async (thresholds: typeof plan.thresholds, state: WorkState) => {
    const runId = await startRun({ thresholds });
    const rows = [row(0, 4000n), row(1, 9000n)];
    await world.report({ benchmarks: [create(BenchmarkStatusSchema, { runId, state, rowsDone: 2, rows })] });
    const run = await world.tenant((ctx) => getBenchmark(ctx, { runId }));
    const { items } = await world.tenant((ctx) => listBenchmarks(ctx, { appId, limit: 50 }));
    const exported = await world.tenant((ctx) => exportBenchmark(ctx, { runId }));
    expect(items.find(({ id }) => id === runId)?.outcome).toBe(run.outcome);
    expect(exported).toMatchObject({ outcome: run.outcome, thresholds: run.thresholds });
    if (state === WorkState.RUNNING) await world.tenant((ctx) => cancelBenchmark(ctx, { runId }));
    return { outcome: run.outcome, passed: run.thresholds.map(({ passed }) => passed) };
  };
  const slow = { metric: 'p99_ms', max: 0.01 } as const;
  const fast = { metric: 'requests_per_second', min: 1999, target: 'proxy' } as const;
  const unmeasured = { metric: 'p99_ms', max: 100, protocol: 'http2' } as const;
  expect(await outcome([fast], WorkState.SUCCEEDED)).toEqual({ outcome: 'passed', passed: [true] });
  expect(await outcome([fast, slow], WorkState.SUCCEEDED)).toEqual({ outcome: 'failed', passed: [true, false] });
  expect(await outcome([unmeasured], WorkState.SUCCEEDED)).toEqual({ outcome: 'failed', passed: [false] });
  expect(await outcome([], WorkState.SUCCEEDED)).toEqual({ outcome: 'none', passed: [] });
  expect(await outcome([fast], WorkState.RUNNING)).toEqual({ outcome: 'none', passed: [] });
  expect(await outcome([fast], WorkState.FAILED)).toEqual({ outcome: 'none', passed: [] });
});

test('a run stores what it measured, and says if another release went live meanwhile', async () => {
  const runId = await startRun();
  const facts = () => world.tenant((ctx) => getBenchmark(ctx, { runId })).then((run) => run.facts);
  const { liveRelease } = await getShop();
  expect(await facts()).toMatchObject({
    release: { number: liveRelease?.number, commitHash: liveRelease?.commitHash },
    configNumber: 0,
    endReleaseNumber: null,
  });
  const { deploymentId } = await world.tenant((ctx) => createDeployment(ctx, { appId }));
  await world.advance(deploymentId);
  await world.finish(deploymentId);
  await world.report({ benchmarks: [create(BenchmarkStatusSchema, { runId, state: WorkState.SUCCEEDED })] });
  const ended = await facts();
  expect(ended?.endReleaseNumber).toBe((liveRelease?.number ?? 0) + 1);
  expect(ended?.release?.number).toBe(liveRelease?.number);
});

test('rows beyond the plan are left out, whatever total the agent claims', async () => {
  const runId = await startRun();
  const rows = [row(0, 4000n), row(2, 1n), row(2_000_000_000, 1n)];
  const status = { runId, state: WorkState.SUCCEEDED, rowsDone: 9_000, rowsTotal: 9_000, rows };
  await world.report({ benchmarks: [create(BenchmarkStatusSchema, status)] });
  const run = await world.tenant((ctx) => getBenchmark(ctx, { runId }));
  expect(run).toMatchObject({ state: 'succeeded', rowsDone: 2, rowsTotal: 2 });
  expect(run.rows.map(({ position }) => position)).toEqual([0]);
});

test('a cancelled benchmark stays cancelled, whatever its server still says', async () => {
  const runId = await startRun();
  await world.tenant((ctx) => cancelBenchmark(ctx, { runId }));
  expect((await world.desired()).benchmarks).toEqual([]);
  await world.report({ benchmarks: [create(BenchmarkStatusSchema, { runId, state: WorkState.SUCCEEDED })] });
  expect(await world.tenant((ctx) => getBenchmark(ctx, { runId }))).toMatchObject({ state: 'cancelled' });
  await expect(world.tenant((ctx) => cancelBenchmark(ctx, { runId }))).rejects.toMatchObject({
    code: 'benchmark.already_finished',
  });
});

test('a benchmark that never ends fails with a sentence and makes way', async () => {
  const runId = await startRun();
  expect(await world.system(failOverdueBenchmarks)).toBe(0);
  world.clock.forward(10 * 60_000);
  expect(await world.system(failOverdueBenchmarks)).toBe(1);
  expect(await world.tenant((ctx) => getBenchmark(ctx, { runId }))).toMatchObject({
    state: 'failed',
    failureCode: 'benchmark.timeout',
  });
});

test('a benchmark loads only hosts of its own app, and only while its server is attached', async () => {
  await expect(
    world.tenant((ctx) => createBenchmark(ctx, { appId, plan: { ...plan, host: 'rival.example.test' } })),
  ).rejects.toMatchObject({ code: 'server.not_connected' });
  await world.report({});
  await expect(
    world.tenant((ctx) => createBenchmark(ctx, { appId, plan: { ...plan, host: 'rival.example.test' } })),
  ).rejects.toMatchObject({ code: 'benchmark.no_domain' });
});

test('a deleted server gets an unknown-server error', async () => {
  const report = create(ReportSchema, {});
  await expect(world.system((ctx) => recordReport(ctx, { serverId: newId('srv'), report }))).rejects.toMatchObject({
    code: 'link.server_unknown',
  });
});
