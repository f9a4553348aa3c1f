// Tests of load servers in saved plans: their checks, runs and schedules with them, and the audit log.
import { type AppId, type BenchmarkPlanId, newId, parseId, type ServerId } from '@fairlead/contract/ids';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { listAudit } from '../audit/index.ts';
import { benchmarkPlanSchema, createBenchmark, getBenchmark } from '../benchmark/index.ts';
import { updateEnvironment } from '../environment/index.ts';
import { forOrganization } from '../kernel/index.ts';
import { deleteServer } from '../server/index.ts';
import { auditEventsOf, type TestWorld, testWorld } from '../testing/index.ts';
import {
  advanceSchedule,
  createPlan,
  createPlanInputSchema,
  findDuePlans,
  getPlan,
  syncRepositoryPlan,
  updatePlan,
  updateSchedule,
} from './index.ts';

let db: TestDatabase;
let world: TestWorld;
let appId: AppId;
let east: ServerId;
let west: ServerId;

const capabilities = ['benchmark', 'benchmark.lab', 'benchmark.load', 'benchmark.distributed', 'certificate.challenge'];
const nightly = { weekday: null, hour: 3, timeZone: 'UTC' };
const plan = benchmarkPlanSchema.parse({ targets: ['proxy'], protocols: ['http1'], concurrency: [4], repeats: 1 });

beforeEach(async () => {
  db = await testDatabase();
  world = await testWorld(db.database);
  const app = await world.createApp('Shop', { host: 'shop.example.test' });
  appId = app.appId;
  await world.advance(app.deploymentId ?? '');
  await world.finish(app.deploymentId ?? '');
  [east, west] = [await addServer('east'), await addServer('west')];
  await world.system(async ({ tx }) => {
    await tx.server.updateMany({ where: { id: world.serverId }, data: { capabilities } });
    await tx.domainHost.updateMany({ data: { state: 'ready' } });
  });
});
afterEach(() => db.drop());

/** Adds a server that was never connected. */
async function addServer(name: string, organizationId = world.organizationId): Promise<ServerId> {
  const id = newId('srv');
  await world.system(({ tx }) =>
    tx.server.create({ data: { id, organizationId, name, publicKey: new Uint8Array(32), capabilities } }),
  );
  return id;
}

const save = async (loadServerIds: ServerId[], changes: object = {}) =>
  (await world.tenant((ctx) => createPlan(ctx, { appId, name: 'Nightly', plan, loadServerIds, ...changes }))).planId;
const get = (planId: BenchmarkPlanId) => world.tenant((ctx) => getPlan(ctx, { planId }));
const update = (planId: BenchmarkPlanId, version: number, changes: object) =>
  world.tenant((ctx) => updatePlan(ctx, { planId, version, ...changes }));
const changeServer = (id: ServerId, data: object) =>
  world.system(({ tx }) => tx.server.updateMany({ where: { id }, data }));
const fieldsOf = async (action: string) =>
  (await auditEventsOf(world))
    .filter((event) => event.action === `benchmark.${action}`)
    .map(({ before, after }) => ({ before, after }));

/** Moves the clock to the next slot, connects the servers, and handles the slot. */
async function reachSlot(planId: BenchmarkPlanId, connected: readonly ServerId[]) {
  const nextMs = (await get(planId)).schedule?.nextAt?.getTime() ?? 0;
  world.clock.forward(nextMs - world.clock.now().getTime() + 1000);
  const lastSeenAt = world.clock.now();
  for (const id of [world.serverId, ...connected])
    await changeServer(id, { connectedGateway: 'gateway#1', lastSeenAt });
  for (const task of await world.system(findDuePlans)) await world.tenant((ctx) => advanceSchedule(ctx, task));
  return (await get(planId)).schedule?.last;
}

test('a plan is saved with servers that can take part, also while they are not connected', async () => {
  const planId = await save([east, west]);
  expect((await get(planId)).loadServers).toEqual([
    { serverId: east, name: 'east' },
    { serverId: west, name: 'west' },
  ]);
  const refused = (loadServerIds: ServerId[]) => expect(save(loadServerIds, { name: 'Other' })).rejects;
  await refused([world.serverId]).toMatchObject({ code: 'benchmark.load_server_own' });
  await refused([newId('srv')]).toMatchObject({ code: 'server.not_found' });
  await changeServer(west, { capabilities: ['benchmark', 'benchmark.load'] });
  await refused([east, west]).toMatchObject({ code: 'benchmark.unsupported', details: { serverId: west } });
  await expect(update(planId, 1, { loadServerIds: [west] })).rejects.toMatchObject({ code: 'benchmark.unsupported' });
});

test('a server of another organization is refused as one that does not exist', async () => {
  const planId = await save([]);
  const other = await world.system(({ tx }) =>
    tx.organization.create({ data: { id: newId('org'), name: 'Rival', slug: 'rival' } }),
  );
  const foreign = await addServer('foreign', parseId('org', other.id));
  const unknown = { code: 'server.not_found' };
  await expect(save([foreign], { name: 'Other' })).rejects.toMatchObject(unknown);
  await expect(update(planId, 1, { loadServerIds: [foreign] })).rejects.toMatchObject(unknown);
  // A foreign id that reached the row in another way gets no load, and its name is not shown.
  await world.system(({ tx }) => tx.benchmarkPlan.updateMany({ data: { loadServerIds: [foreign] } }));
  expect((await get(planId)).loadServers).toEqual([{ serverId: foreign, name: null }]);
  await world.tenant((ctx) => updateSchedule(ctx, { planId, version: 1, schedule: nightly }));
  expect(await reachSlot(planId, [foreign])).toMatchObject({ skipCode: 'benchmark_plan.load_server_deleted' });
});

test('only a plan that load servers can run has some', async () => {
  const direct = benchmarkPlanSchema.parse({ ...plan, targets: ['proxy', 'direct'] });
  const result = createPlanInputSchema.safeParse({ appId, name: 'Nightly', plan: direct, loadServerIds: [east] });
  expect(result.error?.issues.map(({ path }) => path.join('.'))).toEqual(['plan.targets']);
  const planId = await save([east]);
  const refusal = { code: 'benchmark.not_distributable' };
  await expect(update(planId, 1, { plan: direct })).rejects.toMatchObject(refusal);
  await update(planId, 1, { plan: direct, loadServerIds: [] });
  await expect(update(planId, 2, { loadServerIds: [east] })).rejects.toMatchObject(refusal);
});

test('a run of the plan has its load servers, and no others under its name', async () => {
  const planId = await save([east, west]);
  const lastSeenAt = world.clock.now();
  for (const id of [east, west]) await changeServer(id, { connectedGateway: 'gateway#1', lastSeenAt });
  const start = (loadServerIds?: ServerId[]) =>
    world.tenant((ctx) => createBenchmark(ctx, { appId, plan, planId, loadServerIds }));
  await expect(start()).rejects.toMatchObject({ code: 'benchmark_plan.outdated' });
  await expect(start([east])).rejects.toMatchObject({ code: 'benchmark_plan.outdated' });
  const { runId } = await start([west, east]);
  const { planName, servers } = await world.tenant((ctx) => getBenchmark(ctx, { runId }));
  expect([planName, servers.map(({ name }) => name).slice(1)]).toEqual(['Nightly', ['west', 'east']]);
  const { items } = await world.tenant((ctx) => listAudit(ctx, { limit: 1 }));
  expect(items[0]?.names).toMatchObject({ [east]: 'east', [west]: 'west' });
});

test('a schedule runs with the load servers', async () => {
  const planId = await save([east, west]);
  await world.tenant((ctx) => updateSchedule(ctx, { planId, version: 1, schedule: nightly }));
  const last = await reachSlot(planId, [east, west]);
  expect(last).toMatchObject({ skipCode: null });
  const runId = parseId('run', last?.runId ?? '');
  const run = await world.tenant((ctx) => getBenchmark(ctx, { runId }));
  expect(run.servers.map(({ serverId, role }) => [serverId, role])).toEqual([
    [world.serverId, 'measure'],
    [east, 'load'],
    [west, 'load'],
  ]);
});

test('a slot is skipped with the reason while a load server can not take part', async () => {
  const planId = await save([east, west]);
  await world.tenant((ctx) => updateSchedule(ctx, { planId, version: 1, schedule: nightly }));
  const skipped = async (connected: readonly ServerId[]) => {
    const last = await reachSlot(planId, connected);
    expect(last?.runId).toBeNull();
    return [last?.skipCode, last?.skipMessage];
  };
  expect(await skipped([east])).toEqual([
    'benchmark_plan.load_server_offline',
    'A load server of this plan is not connected. Start its agent, or edit the plan and choose other load servers.',
  ]);
  await changeServer(west, { capabilities: ['benchmark'] });
  expect((await skipped([east, west]))[0]).toBe('benchmark_plan.load_server_outdated');
  await world.tenant((ctx) => deleteServer(ctx, { serverId: west, confirmName: 'west' }));
  expect((await skipped([east]))[0]).toBe('benchmark_plan.load_server_deleted');
  // The plan keeps the deleted server, so that no slot silently runs with less load.
  expect((await get(planId)).loadServers).toEqual([
    { serverId: east, name: 'east' },
    { serverId: west, name: null },
  ]);
  await update(planId, 1, { name: 'Every night' });
  await update(planId, 2, { loadServerIds: [east] });
  expect(await reachSlot(planId, [east])).toMatchObject({ skipCode: null });
  expect((await fieldsOf('update_plan')).at(-1)).toEqual({
    before: { loadServers: ['east', west] },
    after: { appName: 'Shop', loadServers: ['east'] },
  });
});

test('protection of an environment pauses schedules whose load servers run its apps', async () => {
  const planId = await save([east]);
  await world.tenant((ctx) => updateSchedule(ctx, { planId, version: 1, schedule: nightly }));
  const staging = newId('env');
  const { organizationId } = world;
  await world.system(async ({ tx }) => {
    const { projectId } = await tx.environment.findFirstOrThrow({ where: { organizationId } });
    await tx.environment.create({ data: { id: staging, organizationId, projectId, name: 'Other', slug: 'other' } });
    const servers = { create: { serverId: west, position: 0 } };
    await tx.placement.create({
      data: { id: newId('plc'), organizationId, appId, environmentId: staging, branch: 'main', servers },
    });
  });
  const protect = (isProtected: boolean) =>
    world.tenant((ctx) => updateEnvironment(ctx, { environmentId: staging, protected: isProtected }));
  await protect(true);
  expect((await get(planId)).schedule?.paused).toBe(false);
  await protect(false);
  await update(planId, 1, { loadServerIds: [west] });
  await protect(true);
  expect((await get(planId)).schedule?.paused).toBe(true);
  expect(await fieldsOf('pause_schedule')).toEqual([
    { before: { paused: false }, after: { appName: 'Shop', paused: true } },
  ]);
});

test('a plan from the repository takes load servers from members, and keeps them when its file changes', async () => {
  const { environmentId } = await world.system(({ tx }) => tx.placement.findFirstOrThrow({ where: { appId } }));
  const sync = (changes: object) =>
    world.system((ctx) => {
      const content = JSON.stringify({ format: 'fairlead-plan-1', name: 'Nightly', plan: { ...plan, ...changes } });
      return syncRepositoryPlan(forOrganization(ctx, world.organizationId), { appId, environmentId, content });
    });
  await sync({});
  const { id } = await world.system(({ tx }) => tx.benchmarkPlan.findFirstOrThrow({}));
  const planId = parseId('bpl', id);
  const refusal = { code: 'benchmark_plan.from_repository' };
  await expect(update(planId, 1, { name: 'Mine', loadServerIds: [east] })).rejects.toMatchObject(refusal);
  await update(planId, 1, { loadServerIds: [east] });
  await sync({ concurrency: [8] });
  expect(await get(planId)).toMatchObject({ version: 3, isFromRepository: true, loadServers: [{ serverId: east }] });

  await world.tenant((ctx) => updateSchedule(ctx, { planId, version: 3, schedule: nightly }));
  await world.system(({ tx }) => tx.benchmarkPlan.updateMany({ data: { plan: { ...plan, targets: ['direct'] } } }));
  expect(await reachSlot(planId, [east])).toMatchObject({ runId: null, skipCode: 'benchmark.not_distributable' });
});

test('the audit log has the names of load servers', async () => {
  const planId = await save([east]);
  await update(planId, 1, { loadServerIds: [east, west] });
  await update(planId, 2, { loadServerIds: [east, west] });
  const [created] = await fieldsOf('create_plan');
  expect(created?.after).toMatchObject({ loadServers: ['east'] });
  expect(await fieldsOf('update_plan')).toEqual([
    { before: { loadServers: ['east'] }, after: { appName: 'Shop', loadServers: ['east', 'west'] } },
    { before: {}, after: { appName: 'Shop' } },
  ]);
});

test('the audit log says that hidden values changed, without the values', async () => {
  const planId = await save([], { plan: { ...plan, path: '/search?token=first' } });
  await update(planId, 1, { plan: { ...plan, path: '/search?token=second' } });
  const request = { method: 'GET', path: '/', headers: { Accept: 'text/first' }, body: '', weight: 1 };
  const load = (headers: object) => ({ ...plan.load, requests: [{ ...request, headers }] });
  await update(planId, 2, { plan: { ...plan, load: load({ Accept: 'text/first' }) } });
  await update(planId, 3, { plan: { ...plan, load: load({ Accept: 'text/second' }) } });
  // PostgreSQL returns headers in another order.
  const ordered = { ...plan, load: load({ 'Accept-Language': 'text/second', Accept: 'text/second' }) };
  await update(planId, 4, { plan: ordered });
  await update(planId, 5, { plan: ordered });
  await update(planId, 6, { plan: { ...ordered, path: '/search#token=first' } });
  await update(planId, 7, { plan: { ...ordered, path: '/search#token=second' } });
  const changes = await fieldsOf('update_plan');
  expect(changes[4]).toEqual({ before: {}, after: { appName: 'Shop' } });
  expect(changes[0]).toEqual({ before: {}, after: { appName: 'Shop', changedValues: ['query'] } });
  expect(changes[2]).toEqual({ before: {}, after: { appName: 'Shop', changedValues: ['headers'] } });
  expect(changes[6]).toEqual({ before: {}, after: { appName: 'Shop', changedValues: ['query'] } });
  expect(JSON.stringify(changes)).not.toMatch(/token=|text\/(?:first|second)/);
});
