// Saved plans of an app, on rows.
import { type AppId, type BenchmarkPlanId, parseId } from '@fairlead/contract/ids';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { getAppMove, moveApp } from '../app/index.ts';
import { benchmarkPlanSchema, createBenchmark, getBenchmark } from '../benchmark/index.ts';
import { createProject } from '../project/index.ts';
import { ownerRights } from '../role/index.ts';
import { auditEventsOf, type TestWorld, testWorld } from '../testing/index.ts';
import { createPlan, deletePlan, getPlan, listPlans, updatePlan } from './index.ts';

let db: TestDatabase;
let world: TestWorld;
let appId: AppId;
let made = 0;

beforeAll(async () => {
  db = await testDatabase();
  world = await testWorld(db.database);
});
afterAll(() => db.drop());
beforeEach(async () => {
  made += 1;
  const app = await world.createApp(`Shop ${made}`, { host: `shop${made}.example.test` });
  appId = app.appId;
  await world.advance(app.deploymentId ?? '');
  await world.finish(app.deploymentId ?? '');
});

const plan = benchmarkPlanSchema.parse({ concurrency: [4], repeats: 1 });
const save = (name: string) => world.tenant((ctx) => createPlan(ctx, { appId, name, plan }));
const get = (planId: BenchmarkPlanId) => world.tenant((ctx) => getPlan(ctx, { planId }));
const namesOf = async (limit = 10, cursor?: string) => {
  const page = await world.tenant((ctx) => listPlans(ctx, { appId, limit, cursor }));
  return { names: page.items.map(({ name }) => name), next: page.nextCursor };
};

test('an app has named plans, listed by name and page by page', async () => {
  for (const name of ['Weekly', 'Nightly', 'Burst']) await save(name);
  expect((await namesOf()).names).toEqual(['Burst', 'Nightly', 'Weekly']);
  const first = await namesOf(2);
  expect(first.names).toEqual(['Burst', 'Nightly']);
  expect(await namesOf(2, first.next ?? '')).toEqual({ names: ['Weekly'], next: null });
  await expect(save('Nightly')).rejects.toMatchObject({ code: 'benchmark_plan.name_taken' });
});

test('a change names the version that it read, so that two members overwrite nothing', async () => {
  const { planId } = await save('Nightly');
  await save('Weekly');
  const changed = { ...plan, concurrency: [8] };
  await world.tenant((ctx) => updatePlan(ctx, { planId, version: 1, plan: changed }));
  expect(await get(planId)).toMatchObject({ name: 'Nightly', version: 2, plan: { concurrency: [8] } });
  const outdated = world.tenant((ctx) => updatePlan(ctx, { planId, version: 1, name: 'Mine' }));
  await expect(outdated).rejects.toMatchObject({ code: 'benchmark_plan.outdated' });
  const taken = world.tenant((ctx) => updatePlan(ctx, { planId, version: 2, name: 'Weekly' }));
  await expect(taken).rejects.toMatchObject({ code: 'benchmark_plan.name_taken' });
  const events = (await auditEventsOf(world)).filter(({ targetId }) => targetId === planId);
  expect(events.map(({ action }) => action)).toEqual(['benchmark.create_plan', 'benchmark.update_plan']);
});

test('a run keeps the name of its plan, also when the plan is deleted', async () => {
  const { planId } = await save('Nightly');
  const { runId } = await world.tenant((ctx) => createBenchmark(ctx, { appId, plan, planId }));
  const changed = { ...plan, repeats: 3 };
  const other = world.tenant((ctx) => createBenchmark(ctx, { appId, plan: changed, planId }));
  await expect(other).rejects.toMatchObject({ code: 'benchmark_plan.outdated' });
  await world.tenant((ctx) => deletePlan(ctx, { planId }));
  expect(await world.tenant((ctx) => getBenchmark(ctx, { runId }))).toMatchObject({ planName: 'Nightly' });
  await expect(get(planId)).rejects.toMatchObject({ code: 'benchmark_plan.not_found' });
});

test('a plan of another app starts no run', async () => {
  const { planId } = await save('Nightly');
  const other = await world.createApp('Other', { host: 'other.example.test' });
  const started = world.tenant((ctx) => createBenchmark(ctx, { appId: other.appId, plan, planId }));
  await expect(started).rejects.toMatchObject({ code: 'benchmark_plan.not_found' });
});

test('plans move with their app to another project', async () => {
  const { planId } = await save('Nightly');
  const { projectId } = await world.tenant((ctx) => createProject(ctx, { name: `Project ${made}` }));
  const { environmentId: from } = await get(planId);
  const target = await world.system(({ tx }) => tx.environment.findFirstOrThrow({ where: { projectId } }));
  const to = parseId('env', target.id);
  const move = await world.tenant((ctx) => getAppMove(ctx, { appId }));
  expect(move.environments.map(({ environmentId }) => environmentId)).toEqual([from]);
  await world.tenant((ctx) => moveApp(ctx, { appId, projectId, environments: [{ from, to }] }, ownerRights));
  expect((await get(planId)).environmentId).toBe(to);
});

test('an app has a bounded number of plans', async () => {
  for (let at = 0; at < 50; at += 1) await save(`Plan ${at}`);
  await expect(save('One more')).rejects.toMatchObject({ code: 'benchmark_plan.too_many' });
});
