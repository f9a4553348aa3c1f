// Plans of a repository: a build saves, changes and releases them, and never touches those of members.
import { type AppId, type DeploymentId, parseId } from '@fairlead/contract/ids';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { benchmarkPlanSchema } from '../benchmark/index.ts';
import { createDeployment, getDeployment } from '../deployment/index.ts';
import { forOrganization } from '../kernel/index.ts';
import { auditEventsOf, builtStatus, type TestWorld, testWorld, untilBlocked } from '../testing/index.ts';
import {
  advanceSchedule,
  createPlan,
  deletePlan,
  findDuePlans,
  listPlans,
  pauseSchedule,
  syncRepositoryPlan,
  updatePlan,
  updateSchedule,
} from './index.ts';

let db: TestDatabase;
let world: TestWorld;
let made = 0;

beforeAll(async () => {
  db = await testDatabase();
  world = await testWorld(db.database);
});
afterAll(() => db.drop());

const file = (name: string, plan: object = {}) => JSON.stringify({ format: 'fairlead-plan-1', name, plan });
const plans = async (appId: AppId) => (await world.tenant((ctx) => listPlans(ctx, { appId, limit: 10 }))).items;

async function createApp(): Promise<AppId> {
  made += 1;
  const { appId, deploymentId } = await world.createApp(`Shop ${made}`, { host: `shop${made}.example.test` });
  await world.advance(deploymentId ?? '');
  await world.finish(deploymentId ?? '');
  return appId;
}

/** Builds a release whose source has the file; returns the sentences of its plan. Undefined: an agent that reads none. */
async function build(appId: AppId, benchmarkPlan?: string): Promise<readonly string[]> {
  const { deploymentId } = await world.tenant((ctx) => createDeployment(ctx, { appId }));
  await world.advance(deploymentId);
  await world.report({ builds: [builtStatus(deploymentId, benchmarkPlan === undefined ? {} : { benchmarkPlan })] });
  await world.finish(deploymentId);
  const id: DeploymentId = parseId('dep', deploymentId);
  const deployment = await world.tenant((ctx) => getDeployment(ctx, { deploymentId: id }));
  expect(deployment.state).toBe('live');
  return deployment.plan;
}

test('a file becomes a plan that changes with deployments only', async () => {
  const appId = await createApp();
  expect(await build(appId, file('Nightly', { concurrency: [4] }))).toContain(
    'fairlead.bench.json is the benchmark plan Nightly.',
  );
  const [first] = await plans(appId);
  expect(first).toMatchObject({ name: 'Nightly', isFromRepository: true, version: 1, plan: { concurrency: [4] } });
  const planId = first?.id ?? parseId('bpl', 'bpl_none');
  const refusal = { code: 'benchmark_plan.from_repository' };
  const renamed = world.tenant((ctx) => updatePlan(ctx, { planId, version: 1, name: 'Mine' }));
  await expect(renamed).rejects.toMatchObject(refusal);
  await expect(world.tenant((ctx) => deletePlan(ctx, { planId }))).rejects.toMatchObject(refusal);

  await build(appId, file('Nightly', { concurrency: [4] }));
  expect(await plans(appId)).toMatchObject([{ id: planId, version: 1 }]);
  await build(appId, file('Weekly', { concurrency: [8] }));
  expect(await plans(appId)).toMatchObject([{ id: planId, name: 'Weekly', version: 2, plan: { concurrency: [8] } }]);
  await build(appId);
  expect(await plans(appId)).toMatchObject([{ id: planId, isFromRepository: true }]);

  // Without the file, there is no plan.
  await build(appId, '');
  expect(await plans(appId)).toEqual([]);
  const events = (await auditEventsOf(world)).filter(({ targetId }) => targetId === planId);
  expect(events.map(({ action, actorId }) => [action, actorId])).toEqual(
    ['create', 'update', 'delete'].map((verb) => [`benchmark.${verb}_plan`, 'fairlead.bench.json']),
  );
});

test('a change of the file pauses the schedule, which outlives the file', async () => {
  const appId = await createApp();
  await build(appId, file('Nightly'));
  const planId = (await plans(appId))[0]?.id ?? parseId('bpl', 'bpl_none');
  const nightly = { weekday: null, hour: 3, timeZone: 'UTC' };
  await world.tenant((ctx) => updateSchedule(ctx, { planId, version: 1, schedule: nightly }));
  await build(appId, file('Weekly'));
  expect(await plans(appId)).toMatchObject([{ name: 'Weekly', schedule: { paused: false } }]);
  expect((await build(appId, file('Weekly', { concurrency: [8] }))).at(-1)).toBe(
    'fairlead.bench.json is the benchmark plan Weekly. It changed, so its schedule is paused.',
  );
  expect(await plans(appId)).toMatchObject([{ plan: { concurrency: [8] }, schedule: { paused: true } }]);
  await build(appId, '');
  expect(await plans(appId)).toMatchObject([{ id: planId, isFromRepository: false, schedule: { paused: true } }]);
  const events = (await auditEventsOf(world)).filter(({ targetId }) => targetId === planId);
  expect(events.map(({ action }) => action.replace('benchmark.', ''))).toEqual([
    ...['create_plan', 'update_schedule', 'update_plan', 'update_plan', 'pause_schedule', 'update_plan'],
  ]);
  await world.tenant((ctx) => deletePlan(ctx, { planId }));
});

test('a schedule is refused for a plan that a build has changed', async () => {
  const appId = await createApp();
  await build(appId, file('Nightly'));
  const planId = (await plans(appId))[0]?.id ?? parseId('bpl', 'bpl_none');
  const nightly = { weekday: null, hour: 3, timeZone: 'UTC' };
  await build(appId, file('Nightly', { concurrency: [64] }));
  const outdated = world.tenant((ctx) => updateSchedule(ctx, { planId, version: 1, schedule: nightly }));
  await expect(outdated).rejects.toMatchObject({ code: 'benchmark_plan.outdated' });
  expect(await plans(appId)).toMatchObject([{ version: 2, schedule: null }]);
});

test('the audit log says that the file changed a query, without its text', async () => {
  const appId = await createApp();
  await build(appId, file('Nightly', { path: '/search?token=first' }));
  await build(appId, file('Nightly', { path: '/search?token=second' }));
  const [plan] = await plans(appId);
  const events = (await auditEventsOf(world)).filter(({ targetId }) => targetId === plan?.id);
  expect(events.at(-1)).toMatchObject({ action: 'benchmark.update_plan', after: { changedValues: ['query'] } });
  expect(JSON.stringify(events)).not.toContain('token=');
});

test('a file with headers in any order is unchanged in the next build', async () => {
  const appId = await createApp();
  const requests = [{ method: 'GET', path: '/', headers: { 'Accept-Language': 'en', Accept: 'text/html' } }];
  await build(appId, file('Nightly', { load: { requests } }));
  await build(appId, file('Nightly', { load: { requests } }));
  expect(await plans(appId)).toMatchObject([{ version: 1 }]);
});

test('a change of the file pauses a schedule that a member sets at the same time', async () => {
  const appId = await createApp();
  await build(appId, file('Nightly'));
  const [{ id: planId, environmentId } = { id: parseId('bpl', 'bpl_none'), environmentId: '' }] = await plans(appId);
  const nightly = { weekday: null, hour: 3, timeZone: 'UTC' };
  let synced: Promise<string | null> | undefined;
  await world.tenant(async (ctx) => {
    await updateSchedule(ctx, { planId, version: 1, schedule: nightly });
    synced = world.system((system) => {
      const content = file('Nightly', { concurrency: [64] });
      return syncRepositoryPlan(forOrganization(system, world.organizationId), { appId, environmentId, content });
    });
    await untilBlocked(ctx.tx);
  });
  expect(await synced).toBe(
    'fairlead.bench.json is the benchmark plan Nightly. It changed, so its schedule is paused.',
  );
  expect(await plans(appId)).toMatchObject([{ version: 2, schedule: { paused: true } }]);
});

test('an app with all its plans gets none of a repository', async () => {
  const appId = await createApp();
  const plan = benchmarkPlanSchema.parse({});
  for (let at = 0; at < 50; at += 1) await world.tenant((ctx) => createPlan(ctx, { appId, name: `Plan ${at}`, plan }));
  expect((await build(appId, file('Nightly'))).at(-1)).toContain('this app has 50 benchmark plans already.');
});

test('a failure of the database becomes a sentence, and the transaction goes on', async () => {
  const appId = await createApp();
  await world.system(async (ctx) => {
    const where = { appId, environmentId: 'env_none', content: file('Nightly') };
    const sentence = await syncRepositoryPlan(forOrganization(ctx, world.organizationId), where);
    expect(sentence).toBe(
      'The benchmark plan of fairlead.bench.json is not used: it could not be saved. Deploy again.',
    );
    expect(await ctx.tx.benchmarkPlan.count({ where: { appId } })).toBe(0);
  });
});

test('a bad file stops no deployment, and the last plan stays', async () => {
  const appId = await createApp();
  await build(appId, file('Nightly'));
  for (const [content, why] of [
    ['{', 'it is not JSON.'],
    [file('Nightly', { concurrency: [0] }), 'plan.concurrency.0: '],
    [file('Nightly', { labApp: { speed: 1 } }), 'plan.labApp: '],
    [file('x'.repeat(70_000)), 'it has more than 64 KiB.'],
  ] as const) {
    const sentences = await build(appId, content);
    expect(sentences.at(-1)).toContain(`The benchmark plan of fairlead.bench.json is not used: ${why}`);
  }
  expect(await plans(appId)).toMatchObject([{ name: 'Nightly', isFromRepository: true, version: 1 }]);
});

test('a plan of a member keeps its name and content', async () => {
  const appId = await createApp();
  const plan = benchmarkPlanSchema.parse({ concurrency: [2] });
  await world.tenant((ctx) => createPlan(ctx, { appId, name: 'Nightly', plan }));
  expect((await build(appId, file('Nightly'))).at(-1)).toContain('another plan has the name Nightly.');
  expect(await plans(appId)).toMatchObject([{ name: 'Nightly', isFromRepository: false, plan: { concurrency: [2] } }]);
});

test('a file that turns to a scenario with more rights is never started by its schedule', async () => {
  const appId = await createApp();
  await build(appId, file('Nightly'));
  const planId = (await plans(appId))[0]?.id ?? parseId('bpl', 'bpl_none');
  const nightly = { weekday: null, hour: 3, timeZone: 'UTC' };
  await world.tenant((ctx) => updateSchedule(ctx, { planId, version: 1, schedule: nightly }));
  await build(
    appId,
    file('Nightly', { scenario: 'deploy', targets: ['proxy'], protocols: ['http1'], requestsPerSecond: 10 }),
  );
  await world.tenant((ctx) => pauseSchedule(ctx, { planId, version: 2, paused: false }));
  const nextAt = (await plans(appId))[0]?.schedule?.nextAt?.getTime() ?? 0;
  world.clock.forward(nextAt - world.clock.now().getTime() + 1000);
  await world.report({});
  for (const task of await world.system(findDuePlans)) await world.tenant((ctx) => advanceSchedule(ctx, task));
  const [skipped] = await plans(appId);
  expect(skipped?.schedule?.last).toMatchObject({ runId: null, skipCode: 'benchmark_plan.not_schedulable' });
  await world.tenant((ctx) => pauseSchedule(ctx, { planId, version: 2, paused: true }));
});
