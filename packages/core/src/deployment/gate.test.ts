// Tests of the benchmark gate against a real database: what the server gets, and what readers and GitHub get back.
import { create } from '@bufbuild/protobuf';
import {
  BenchmarkMetric,
  BenchmarkProtocol,
  BenchmarkRowSchema,
  BenchmarkTarget,
  RolloutStatusSchema,
  StepState,
  WorkState,
} from '@fairlead/contract/agent';
import { histogramToWire } from '@fairlead/contract/histogram';
import { parseId } from '@fairlead/contract/ids';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { updateConfig } from '../app/index.ts';
import { type BenchmarkGateSettings, updateConfigInputSchema } from '../config/index.ts';
import { builtStatus, type TestWorld, testWorld } from '../testing/index.ts';
import { createDeployment, getDeployment, restartApp, rollbackApp } from './index.ts';

let db: TestDatabase;
let world: TestWorld;

beforeAll(async () => {
  db = await testDatabase();
  world = await testWorld(db.database);
});
afterAll(() => db.drop());

const gate: BenchmarkGateSettings = {
  path: '/up',
  concurrency: 8,
  durationMs: 1000,
  rounds: 2,
  thresholds: [
    { metric: 'p99_ms', max: 20.5 },
    { metric: 'success_percent', min: 99 },
  ],
};
const can = (capabilities: string[]) => world.system(({ tx }) => tx.server.updateMany({ data: { capabilities } }));

async function gatedApp(name: string) {
  await can(['app', 'route', 'build', 'build.plan', 'benchmark.gate']);
  const { appId } = await world.createApp(name, { host: `${name}.example.test`, deployNow: false });
  await world.tenant((ctx) => updateConfig(ctx, { appId, settings: { benchmarkGate: gate } }));
  return appId;
}

const deploy = async (appId: Awaited<ReturnType<typeof gatedApp>>) => {
  const { deploymentId } = await world.tenant((ctx) => createDeployment(ctx, { appId }));
  await world.advance(deploymentId);
  return deploymentId;
};
const get = (deploymentId: Awaited<ReturnType<typeof deploy>>) =>
  world.tenant((ctx) => getDeployment(ctx, { deploymentId }));
const gateOf = async (appId: string) =>
  (await world.desired()).apps.find((app) => app.appId === appId)?.candidate?.benchmarkGate;

const row = (round: number, us: number) =>
  create(BenchmarkRowSchema, {
    position: round,
    round,
    target: BenchmarkTarget.DIRECT,
    protocol: BenchmarkProtocol.HTTP1,
    concurrency: 8,
    durationMs: 1000,
    requests: 500n,
    latency: histogramToWire({ counts: new Map([[us, 500]]), sumUs: 500 * us }),
  });

function status(deploymentId: string, state: WorkState, rows: ReturnType<typeof row>[], code?: string) {
  return create(RolloutStatusSchema, {
    deploymentId,
    state,
    benchmarkRows: rows,
    steps: [{ name: 'benchmark', state: StepState.RUNNING, startedUnixMs: 1n }],
    ...(code === undefined ? {} : { failure: { code, message: 'p99 of the new release is 35 ms.' } }),
  });
}

test('the server gets the gate with the host of the app, and readers get its rounds and its verdict', async () => {
  const appId = await gatedApp('shop');
  const deploymentId = await deploy(appId);
  await world.report({ builds: [builtStatus(deploymentId)] });
  const desired = await world.desired();
  expect(desired.requires).toContain('benchmark.gate');
  expect(await gateOf(appId)).toMatchObject({
    ...{ host: 'shop.example.test', path: '/up', concurrency: 8, rounds: 2, durationMs: 1000, warmupMs: 500 },
    thresholds: [
      { metric: BenchmarkMetric.P99_MS, bound: { case: 'maxThousandths', value: 20_500n } },
      { metric: BenchmarkMetric.SUCCESS_PERCENT, bound: { case: 'minThousandths', value: 99_000n } },
    ],
  });
  await world.report({ rollouts: [status(deploymentId, WorkState.RUNNING, [row(0, 31)])] });
  const running = await get(deploymentId);
  expect(running.steps.find(({ name }) => name === 'benchmark')).toMatchObject({ state: 'running' });
  expect(running.servers[0]?.gate).toMatchObject({
    ...{ outcome: 'running', path: '/up', rounds: 2, thresholds: [] },
    rows: [{ round: 0, requestsPerSecond: 500, p99Ms: 0.031 }],
  });
  await world.report({ rollouts: [status(deploymentId, WorkState.SUCCEEDED, [row(0, 31), row(1, 31)])] });
  const live = await get(deploymentId);
  expect(live.state).toBe('live');
  expect(live.servers[0]?.gate).toMatchObject({
    outcome: 'passed',
    thresholds: [
      { passed: true, cells: [{ value: 0.031 }] },
      { passed: true, cells: [{ value: 100 }] },
    ],
  });
});

test('a missed threshold fails the deployment with its code, and the old release stays live', async () => {
  const appId = await gatedApp('slow');
  const first = await deploy(appId);
  await world.report({ builds: [builtStatus(first)] });
  await world.report({ rollouts: [status(first, WorkState.SUCCEEDED, [row(0, 31), row(1, 31)])] });
  const second = await deploy(appId);
  await world.report({ builds: [builtStatus(second, { digest: `sha256:${'b'.repeat(64)}` })] });
  const slow = [row(0, 300), row(1, 300)];
  await world.report({ rollouts: [status(second, WorkState.FAILED, slow, 'benchmark.threshold_missed')] });
  const failed = await get(second);
  expect(failed).toMatchObject({
    ...{ state: 'failed', failureCode: 'benchmark.threshold_missed' },
    failureMessage: 'p99 of the new release is 35 ms.',
  });
  expect(failed.servers[0]?.gate).toMatchObject({
    outcome: 'failed',
    thresholds: [{ passed: false }, { passed: true }],
  });
  expect((await get(first)).isCurrent).toBe(true);

  // Both releases have served, so the way back is not delayed.
  const restart = await world.tenant((ctx) => restartApp(ctx, { appId }));
  await world.advance(restart.deploymentId);
  expect(await gateOf(appId)).toBeUndefined();
});

test('a rollback is not measured', async () => {
  const appId = await gatedApp('back');
  const releases: string[] = [];
  for (const letter of ['c', 'd']) {
    const deploymentId = await deploy(appId);
    await world.report({ builds: [builtStatus(deploymentId, { digest: `sha256:${letter.repeat(64)}` })] });
    await world.report({ rollouts: [status(deploymentId, WorkState.SUCCEEDED, [row(0, 31), row(1, 31)])] });
    releases.push((await get(deploymentId)).releaseId ?? '');
  }
  const { releaseId } = await world.tenant(async (ctx) => {
    const found = await ctx.tx.release.findFirstOrThrow({ where: { id: releases[0] ?? '' }, select: { id: true } });
    return { releaseId: parseId('rel', found.id) };
  });
  const { deploymentId } = await world.tenant((ctx) => rollbackApp(ctx, { appId, releaseId }));
  await world.advance(deploymentId);
  const state = await world.desired();
  expect(state.apps.find((app) => app.appId === appId)?.candidate?.deploymentId).toBe(deploymentId);
  expect(await gateOf(appId)).toBeUndefined();
});

test('an agent that knows no gates refuses the deployment instead of skipping the gate', async () => {
  const appId = await gatedApp('old');
  await can(['app', 'route', 'build', 'build.plan']);
  const deploymentId = await deploy(appId);
  const refused = await get(deploymentId);
  expect(refused).toMatchObject({ state: 'failed', failureCode: 'deployment.capability_missing' });
  expect(refused.failureMessage).toContain('benchmark.gate');
});

test('a gate that can not be met, or takes too long, is refused at its field', () => {
  const problemOf = (changes: object) => {
    const input = { appId: 'app_0fixtureApp000000000', settings: { benchmarkGate: { ...gate, ...changes } } };
    const parsed = updateConfigInputSchema.safeParse(input);
    return parsed.success ? null : parsed.error.issues[0]?.path.slice(2).join('.');
  };
  expect(problemOf({})).toBeNull();
  for (const [changes, path] of [
    [{ thresholds: [] }, 'thresholds'],
    [{ thresholds: [{ metric: 'memory_bytes', max: 1 }] }, 'thresholds.0.metric'],
    [{ thresholds: [{ metric: 'p99_ms', max: 0.0001 }] }, 'thresholds.0.max'],
    [{ thresholds: [{ metric: 'p99_ms' }] }, 'thresholds.0.min'],
    [{ thresholds: [{ metric: 'p99_ms', max: 1, target: 'proxy' }] }, 'thresholds.0'],
    [{ thresholds: [{ metric: 'requests_per_second', min: 0, relativeTo: 'live' }] }, 'thresholds.0.min'],
    [{ durationMs: 30_000 }, 'rounds'],
    [{ durationMs: 31_000 }, 'durationMs'],
    [{ concurrency: 5000 }, 'concurrency'],
    [{ path: 'up' }, 'path'],
  ] as const)
    expect(problemOf({ ...{ rounds: 3 }, ...changes }), JSON.stringify(changes)).toBe(path);
});

test('a threshold relative to the live release needs its capability, and both releases are read', async () => {
  const relative: BenchmarkGateSettings = { ...gate, thresholds: [{ metric: 'p99_ms', max: 1.2, relativeTo: 'live' }] };
  const appId = await gatedApp('ratio');
  await world.tenant((ctx) => updateConfig(ctx, { appId, settings: { benchmarkGate: relative } }));
  const refused = await deploy(appId);
  await world.report({ builds: [builtStatus(refused)] });
  expect((await get(refused)).failureMessage).toContain('benchmark.gate_relative');

  await can(['app', 'route', 'build', 'build.plan', 'benchmark.gate', 'benchmark.gate_relative']);
  const deploymentId = await deploy(appId);
  await world.report({ builds: [builtStatus(deploymentId)] });
  expect(await gateOf(appId)).toMatchObject({ thresholds: [{ metric: BenchmarkMetric.P99_MS, relative: true }] });
  const [rows, live] = [
    [row(0, 31), row(1, 31)],
    [row(0, 20), row(1, 20)],
  ];
  const measured = status(deploymentId, WorkState.FAILED, rows, 'benchmark.threshold_missed');
  await world.report({ rollouts: [{ ...measured, liveBenchmarkRows: live }] });
  expect((await get(deploymentId)).servers[0]?.gate).toMatchObject({
    ...{ outcome: 'failed', rows: [{ p99Ms: 0.031 }, {}], liveRows: [{ p99Ms: 0.02 }, {}] },
    thresholds: [{ passed: false, cells: [{ value: 1.55 }] }],
  });
});
