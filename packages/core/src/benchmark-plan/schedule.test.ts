// Schedules of saved plans: due runs, skipped slots with their reason, pauses, and deleted apps.
import { type AppId, type BenchmarkPlanId, parseId } from '@fairlead/contract/ids';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { deleteApp, restoreApp } from '../app/index.ts';
import { benchmarkPlanSchema, createBenchmark, getBenchmark } from '../benchmark/index.ts';
import { updateEnvironment } from '../environment/index.ts';
import { auditEventsOf, type TestWorld, testWorld } from '../testing/index.ts';
import {
  advanceSchedule,
  createPlan,
  findDuePlans,
  getPlan,
  pauseSchedule,
  updatePlan,
  updateSchedule,
} from './index.ts';

let db: TestDatabase;
let world: TestWorld;
let appId: AppId;
let planId: BenchmarkPlanId;

const HOUR_MS = 3_600_000;
const plan = benchmarkPlanSchema.parse({ repeats: 1 });
const nightly = { weekday: null, hour: 3, timeZone: 'Europe/Berlin' };

beforeEach(async () => {
  db = await testDatabase();
  world = await testWorld(db.database);
  const app = await world.createApp('Shop', { host: 'shop.example.test' });
  appId = app.appId;
  await world.advance(app.deploymentId ?? '');
  await world.finish(app.deploymentId ?? '');
  ({ planId } = await world.tenant((ctx) => createPlan(ctx, { appId, name: 'Nightly', plan })));
});
afterEach(() => db.drop());

const schedule = (version = 1) => world.tenant((ctx) => updateSchedule(ctx, { planId, version, schedule: nightly }));
const current = async () => (await world.tenant((ctx) => getPlan(ctx, { planId }))).schedule;
const due = () => world.system(findDuePlans);
/** Moves the clock to the next slot and a bit further. */
async function reachSlot(beyondMs = 1000): Promise<void> {
  const nextMs = (await current())?.nextAt?.getTime() ?? 0;
  world.clock.forward(nextMs - world.clock.now().getTime() + beyondMs);
}
async function handle(connected = true): Promise<void> {
  if (connected) await world.report({});
  for (const task of await due()) await world.tenant((ctx) => advanceSchedule(ctx, task));
}

test('a due plan starts one run, as the schedule, and waits for the next slot', async () => {
  await schedule();
  expect(await due()).toEqual([]);
  await reachSlot();
  const before = await current();
  const tasks = await due();
  expect(tasks).toEqual([{ organizationId: world.organizationId, planId }]);
  await handle();
  // A second worker had the same task.
  await world.tenant((ctx) => advanceSchedule(ctx, { planId }));

  const after = await current();
  expect(after?.last).toMatchObject({ at: before?.nextAt, skipCode: null });
  expect(after?.nextAt?.getTime()).toBeGreaterThan(world.clock.now().getTime());
  const runId = parseId('run', after?.last?.runId ?? '');
  expect(await world.tenant((ctx) => getBenchmark(ctx, { runId }))).toMatchObject({
    state: 'queued',
    trigger: 'schedule',
    planName: 'Nightly',
  });
  const created = (await auditEventsOf(world)).filter(({ action }) => action === 'benchmark.create');
  expect(created).toMatchObject([{ actorKind: 'system', actorId: 'schedule of the benchmark plan Nightly' }]);
});

test('a slot is skipped with its reason while the server is not connected', async () => {
  await schedule();
  await reachSlot();
  await handle(false);
  expect((await current())?.last).toMatchObject({
    runId: null,
    skipCode: 'server.not_connected',
    skipMessage: 'The server is not connected. Start its agent, then try again.',
  });
  expect(await due()).toEqual([]);
});

test('a slot is skipped while the queue is full', async () => {
  await schedule();
  await reachSlot();
  await world.report({});
  for (let at = 0; at < 5; at += 1) await world.tenant((ctx) => createBenchmark(ctx, { appId, plan }));
  await handle();
  expect((await current())?.last?.skipCode).toBe('benchmark.app_queue_full');
});

test('a slot is skipped while the app is not live', async () => {
  const { appId: other } = await world.createApp('Blog', { deployNow: false });
  ({ planId } = await world.tenant((ctx) => createPlan(ctx, { appId: other, name: 'Nightly', plan })));
  await schedule();
  await reachSlot();
  await handle();
  expect((await current())?.last?.skipCode).toBe('app.not_live');
});

test('a slot that passed while the control plane was down starts nothing in the morning', async () => {
  await schedule();
  await reachSlot(HOUR_MS + 1000);
  await handle();
  expect((await current())?.last).toMatchObject({ runId: null, skipCode: 'benchmark_plan.late' });
});

test('a paused schedule is not due, and goes on with the next slot', async () => {
  await schedule();
  await world.tenant((ctx) => pauseSchedule(ctx, { planId, version: 1, paused: true }));
  expect(await current()).toMatchObject({ paused: true, nextAt: null });
  world.clock.forward(49 * HOUR_MS);
  expect(await due()).toEqual([]);
  await world.tenant((ctx) => pauseSchedule(ctx, { planId, version: 1, paused: false }));
  expect(await due()).toEqual([]);
  expect((await current())?.nextAt?.getTime()).toBeGreaterThan(world.clock.now().getTime());
});

test('a schedule is set and resumed only for the plan that the member saw', async () => {
  await schedule();
  const pause = (version: number, paused: boolean) =>
    world.tenant((ctx) => pauseSchedule(ctx, { planId, version, paused }));
  await world.tenant((ctx) => updatePlan(ctx, { planId, version: 1, plan: { ...plan, concurrency: [64] } }));
  const outdated = { code: 'benchmark_plan.outdated' };
  await expect(schedule(1)).rejects.toMatchObject(outdated);
  // A pause takes load away, so it works for each version.
  await pause(1, true);
  await expect(pause(1, false)).rejects.toMatchObject(outdated);
  expect(await current()).toMatchObject({ paused: true });
  await pause(2, false);
  expect(await current()).toMatchObject({ paused: false });
  await world.tenant((ctx) => updateSchedule(ctx, { planId, version: 1, schedule: null }));
  expect(await current()).toBeNull();
});

test('a removed schedule can not be paused', async () => {
  await schedule();
  await world.tenant((ctx) => updateSchedule(ctx, { planId, version: 1, schedule: null }));
  expect(await current()).toBeNull();
  const paused = world.tenant((ctx) => pauseSchedule(ctx, { planId, version: 1, paused: true }));
  await expect(paused).rejects.toMatchObject({ code: 'benchmark_plan.no_schedule' });
});

test('a deleted app starts nothing', async () => {
  await schedule();
  await world.tenant((ctx) => deleteApp(ctx, { appId, confirmName: 'Shop' }));
  world.clock.forward(25 * HOUR_MS);
  expect(await due()).toEqual([]);
});

test('a plan that acts on the app or its server has no schedule', async () => {
  const deploy = { ...plan, scenario: 'deploy' as const, requestsPerSecond: 10, targets: ['proxy' as const] };
  const { version } = await world.tenant((ctx) => getPlan(ctx, { planId }));
  await world.tenant((ctx) => updatePlan(ctx, { planId, version, plan: deploy }));
  await expect(schedule(version + 1)).rejects.toMatchObject({ code: 'benchmark_plan.not_schedulable' });
  await world.tenant((ctx) => updatePlan(ctx, { planId, version: version + 1, plan }));
  await schedule(version + 2);
  const refused = world.tenant((ctx) => updatePlan(ctx, { planId, version: version + 2, plan: deploy }));
  await expect(refused).rejects.toMatchObject({ code: 'benchmark_plan.not_schedulable' });
});

test('a plan whose requests may change data has no schedule', async () => {
  await schedule();
  const { version } = await world.tenant((ctx) => getPlan(ctx, { planId }));
  const { load } = benchmarkPlanSchema.parse({ load: { requests: [{ method: 'POST', path: '/orders' }] } });
  const refused = world.tenant((ctx) => updatePlan(ctx, { planId, version, plan: { ...plan, load } }));
  await expect(refused).rejects.toMatchObject({ code: 'benchmark_plan.not_schedulable' });
});

test('protection of the environment pauses its schedules', async () => {
  await schedule();
  const { environmentId } = await world.tenant((ctx) => getPlan(ctx, { planId }));
  const protect = (isProtected: boolean) =>
    world.tenant((ctx) => updateEnvironment(ctx, { environmentId, protected: isProtected }));
  await protect(true);
  expect(await current()).toMatchObject({ paused: true, nextAt: null });
  // A schedule that was paused before is not paused again.
  await protect(false);
  await protect(true);
  const pauses = (await auditEventsOf(world)).filter(({ action }) => action === 'benchmark.pause_schedule');
  expect(pauses).toMatchObject([
    { targetId: planId, targetLabel: 'Nightly', before: { paused: false }, after: { appName: 'Shop', paused: true } },
  ]);
});

test('protection of the environment also pauses the schedules of deleted apps, which can be restored', async () => {
  await schedule();
  const { environmentId } = await world.tenant((ctx) => getPlan(ctx, { planId }));
  await world.tenant((ctx) => deleteApp(ctx, { appId, confirmName: 'Shop' }));
  await world.tenant((ctx) => updateEnvironment(ctx, { environmentId, protected: true }));
  await world.tenant((ctx) => restoreApp(ctx, { appId }));
  expect(await current()).toMatchObject({ paused: true, nextAt: null });
  const pauses = (await auditEventsOf(world)).filter(({ action }) => action === 'benchmark.pause_schedule');
  expect(pauses).toMatchObject([{ targetId: planId, after: { appName: 'Shop', paused: true } }]);
});
