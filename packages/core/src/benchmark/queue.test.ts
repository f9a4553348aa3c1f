// Queue of a server: order, positions, bound, time limits and cancels, with a simulated agent.
import { create } from '@bufbuild/protobuf';
import { BenchmarkStatusSchema, WorkState } from '@fairlead/contract/agent';
import type { AppId, RunId } from '@fairlead/contract/ids';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { deleteApp } from '../app/index.ts';
import { runBenchmarkEvent } from '../benchmark-event/index.ts';
import { builtStatus, type TestWorld, testWorld, untilBlocked } from '../testing/index.ts';
import { benchmarkPlanSchema, cancelBenchmark, createBenchmark, failOverdueBenchmarks, getBenchmark } from './index.ts';
import { timeLimitMs } from './plan.ts';

let db: TestDatabase;
let world: TestWorld;
let appId: AppId;

beforeAll(async () => {
  db = await testDatabase();
  world = await testWorld(db.database);
  const app = await world.createApp('Shop', { host: 'shop.example.test' });
  appId = app.appId;
  await world.advance(app.deploymentId ?? '');
  await world.finish(app.deploymentId ?? '');
});
afterAll(() => db.drop());
beforeEach(async () => {
  await world.system(({ tx }) => tx.benchmarkRun.deleteMany({}));
  // The server counts as connected.
  await world.report({});
});

const plan = benchmarkPlanSchema.parse({ concurrency: [8], durationMs: 1000, protocols: ['http1'], repeats: 1 });
const limitMs = timeLimitMs(plan);
const start = async (of = appId) => (await world.tenant((ctx) => createBenchmark(ctx, { appId: of, plan }))).runId;
const liveApp = async (name: string): Promise<AppId> => {
  const app = await world.createApp(name, { host: `${name.toLowerCase()}.example.test` });
  await world.advance(app.deploymentId ?? '');
  await world.finish(app.deploymentId ?? '');
  return app.appId;
};
const get = (runId: RunId) => world.tenant((ctx) => getBenchmark(ctx, { runId }));
const queueOf = async (...ids: RunId[]) => {
  const runs = await Promise.all(ids.map(get));
  return runs.map(({ state, aheadInQueue }) => (aheadInQueue === null ? state : `${state} behind ${aheadInQueue}`));
};
/** Reports as the agent does: every run without an outcome is running. */
const report = (...statuses: (readonly [RunId, WorkState])[]) =>
  world.report({ benchmarks: statuses.map(([runId, state]) => create(BenchmarkStatusSchema, { runId, state })) });

test('runs wait in the order of their creation, and one runs at a time', async () => {
  const [first, second, third] = [await start(), await start(), await start()];
  expect((await world.desired()).benchmarks.map(({ runId }) => runId)).toEqual([first, second, third]);
  expect(await queueOf(first, second, third)).toEqual(['queued behind 0', 'queued behind 1', 'queued behind 2']);

  const { RUNNING, SUCCEEDED } = WorkState;
  await report([first, RUNNING], [second, RUNNING], [third, RUNNING]);
  expect(await queueOf(first, second, third)).toEqual(['running', 'queued behind 1', 'queued behind 2']);
  await report([first, SUCCEEDED], [second, RUNNING], [third, RUNNING]);
  expect(await queueOf(first, second, third)).toEqual(['succeeded', 'running', 'queued behind 1']);
});

test('a cancelled run leaves the queue, and the next one moves up', async () => {
  const [first, second, third] = [await start(), await start(), await start()];
  await world.tenant((ctx) => cancelBenchmark(ctx, { runId: second }));
  expect(await queueOf(first, second, third)).toEqual(['queued behind 0', 'cancelled', 'queued behind 1']);
  expect((await world.desired()).benchmarks.map(({ runId }) => runId)).toEqual([first, third]);
});

test('a report locks its runs before it gives a server a new state, as the sweep does', async () => {
  const { deploymentId } = await world.createApp('Sale', { host: 'sale.example.test' });
  await world.advance(deploymentId ?? '');
  const runId = await start();
  await report([runId, WorkState.RUNNING]);
  let reported: Promise<void> | undefined;
  await world.system(async ({ tx }) => {
    await tx.$queryRaw`SELECT id FROM benchmark_run WHERE id = ${runId} FOR UPDATE`;
    // The end of the build gives the server a new state, in the same transaction in which the run ends.
    reported = world.report({
      builds: [builtStatus(deploymentId ?? '')],
      benchmarks: [create(BenchmarkStatusSchema, { runId, state: WorkState.SUCCEEDED })],
    });
    await untilBlocked(tx);
    const free = tx.$queryRaw`SELECT id FROM server WHERE id = ${world.serverId} FOR UPDATE NOWAIT`;
    await expect(free).resolves.toHaveLength(1);
  });
  await reported;
  expect(await queueOf(runId)).toEqual(['succeeded']);
  await world.finish(deploymentId ?? '');
});

test('an event locks the app before its run, as a report does', async () => {
  const other = await liveApp('Event');
  const deploy = { ...plan, scenario: 'deploy' as const, requestsPerSecond: 10, targets: ['proxy' as const] };
  const { runId } = await world.tenant((ctx) => createBenchmark(ctx, { appId: other, plan: deploy }));
  const data = { state: 'running', eventsDue: 1 };
  await world.system(({ tx }) => tx.benchmarkRun.updateMany({ where: { id: runId }, data }));
  let handled: Promise<void> | undefined;
  await world.system(async ({ tx }) => {
    await tx.$queryRaw`SELECT id FROM app WHERE id = ${other} FOR NO KEY UPDATE`;
    handled = world.tenant((ctx) => runBenchmarkEvent(ctx, { runId }));
    await untilBlocked(tx);
    const free = tx.$queryRaw`SELECT id FROM benchmark_run WHERE id = ${runId} FOR UPDATE NOWAIT`;
    await expect(free).resolves.toHaveLength(1);
  });
  await handled;
  const [event] = (await get(runId)).events;
  expect(event).toMatchObject({ problem: null });
  await world.advance(event?.deploymentId ?? '');
  await world.finish(event?.deploymentId ?? '');
});

test('the deletion of an app locks all its runs before it gives a server a new state', async () => {
  const gone = [await liveApp('Gone'), await liveApp('Past')] as const;
  const environmentId = await world.addEnvironment(gone[0], { name: 'Staging' });
  await world.addEnvironment(gone[1], { environmentId });
  const hold = async (name: string, held: 'first' | 'second', of: AppId) => {
    const runs = { first: await start(of), second: await start(of) };
    await world.system(({ tx }) => tx.benchmarkRun.updateMany({ where: { id: runs.second }, data: { environmentId } }));
    let deleted: Promise<unknown> | undefined;
    await world.system(async ({ tx }) => {
      await tx.$queryRaw`SELECT id FROM benchmark_run WHERE id = ${runs[held]} FOR UPDATE`;
      deleted = world.tenant((ctx) => deleteApp(ctx, { appId: of, confirmName: name }));
      await untilBlocked(tx);
      const free = tx.$queryRaw`SELECT id FROM server WHERE id = ${world.serverId} FOR UPDATE NOWAIT`;
      await expect(free).resolves.toHaveLength(1);
    });
    await deleted;
    const where = { id: { in: Object.values(runs) }, state: 'cancelled' };
    expect(await world.system(({ tx }) => tx.benchmarkRun.count({ where }))).toBe(2);
  };
  // Either environment could come first.
  await hold('Gone', 'first', gone[0]);
  await hold('Past', 'second', gone[1]);
});

test('a queue is bounded', async () => {
  const others = [await liveApp('Blog'), await liveApp('Docs'), await liveApp('Wiki')];
  for (const of of [appId, ...others]) {
    for (let at = 0; at < 5; at += 1) await start(of);
  }
  const last = await liveApp('Chat');
  await expect(start(last)).rejects.toMatchObject({ code: 'benchmark.queue_full' });
});

test('one app takes a part of the queue only', async () => {
  const other = await liveApp('Mail');
  for (let at = 0; at < 5; at += 1) await start();
  await expect(start()).rejects.toMatchObject({ code: 'benchmark.app_queue_full' });
  await start(other);
});

test('simultaneous starts share one bound and one order', async () => {
  for (let at = 0; at < 2; at += 1) await start();
  const started = await Promise.allSettled([start(), start(), start(), start(), start()]);
  expect(started.filter(({ status }) => status === 'fulfilled')).toHaveLength(3);
  const runs = await world.system(({ tx }) => tx.benchmarkRun.findMany({ select: { createdAt: true } }));
  expect(new Set(runs.map(({ createdAt }) => createdAt.getTime())).size).toBe(5);
});

test('the time limit of a run counts from its start, and those behind it wait', async () => {
  const [first, second] = [await start(), await start()];
  await report([first, WorkState.RUNNING]);
  world.clock.forward(limitMs - 1);
  expect(await world.system(failOverdueBenchmarks)).toBe(0);
  await report([first, WorkState.SUCCEEDED], [second, WorkState.RUNNING]);
  world.clock.forward(limitMs - 1);
  expect(await world.system(failOverdueBenchmarks)).toBe(0);
  world.clock.forward(1);
  expect(await world.system(failOverdueBenchmarks)).toBe(1);
  expect(await queueOf(first, second)).toEqual(['succeeded', 'failed']);
});

test('a run has its whole time to start after the one before it failed', async () => {
  const [first, second] = [await start(), await start()];
  await report([first, WorkState.RUNNING]);
  world.clock.forward(limitMs);
  expect(await world.system(failOverdueBenchmarks)).toBe(1);
  expect(await queueOf(first, second)).toEqual(['failed', 'queued behind 0']);
  world.clock.forward(limitMs - 1);
  expect(await world.system(failOverdueBenchmarks)).toBe(0);
});

test('runs end although their server never connects again', async () => {
  const [first, second, third] = [await start(), await start(), await start()];
  world.clock.forward(limitMs);
  expect(await world.system(failOverdueBenchmarks)).toBe(3);
  expect(await queueOf(first, second, third)).toEqual(['failed', 'failed', 'failed']);
  expect(await get(third)).toMatchObject({ failureCode: 'benchmark.timeout' });
  expect((await world.desired()).benchmarks).toEqual([]);
});
