// Tests of the permissions to start a benchmark. Scenarios that act on an app or its server need what the same action needs
// elsewhere. Load servers of runs and saved plans need the right to benchmark in the organization.

import { newId, type OrganizationId, parseId, type ServerId } from '@fairlead/contract/ids';
import { updateConfig } from '@fairlead/core/app';
import { autoscalingSchema } from '@fairlead/core/config';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { startTestApi, type TestApi } from './testing/index.ts';

type Caller = ReturnType<TestApi['caller']>;

let api: TestApi;
let owner: Caller;
let benchmarker: Caller;
let developer: Caller;
let appId: Awaited<ReturnType<TestApi['world']['createApp']>>['appId'];

beforeAll(async () => {
  api = await startTestApi();
  owner = api.caller((await api.signUp('Ada', 'owner')).cookie);
  const { roleId } = await owner.role.create({ name: 'Measurer', permissions: ['app.read', 'benchmark.write'] });
  benchmarker = api.caller((await api.signUp('Bea', roleId)).cookie);
  developer = api.caller((await api.signUp('Cleo', 'developer')).cookie);
  const app = await api.world.createApp('Shop', { host: 'shop.example.test' });
  await api.world.advance(app.deploymentId ?? '');
  await api.world.finish(app.deploymentId ?? '');
  ({ appId } = app);
  const autoscaling = autoscalingSchema.parse({ instancesMin: 0, instancesMax: 1 });
  await api.world.tenant((ctx) => updateConfig(ctx, { appId, settings: { autoscaling } }));
});
afterAll(() => api.close());
// The queue of an app is bounded.
beforeEach(() => api.world.system(({ tx }) => tx.benchmarkRun.deleteMany({})));

const start = (caller: Caller, scenario: string) =>
  caller.benchmark.create({
    appId,
    plan: {
      scenario,
      requestsPerSecond: scenario === 'wake' ? null : 10,
      targets: ['proxy'],
      protocols: ['http1'],
    } as object,
  });
const denied = { cause: { published: { errorCode: 'permission.denied' } } };

test.each(['deploy', 'wake'])('the scenario %s needs the right to deploy', async (scenario) => {
  await start(benchmarker, 'burst');
  await expect(start(benchmarker, scenario)).rejects.toMatchObject(denied);
  await start(developer, scenario);
});

test('requests that may change data need the right to deploy', async () => {
  const send = (caller: Caller, request: object) =>
    caller.benchmark.create({ appId, plan: { load: { requests: [{ path: '/orders', ...request }] } } as object });
  await send(benchmarker, { headers: { Accept: 'text/html' } });
  await expect(send(benchmarker, { method: 'POST' })).rejects.toMatchObject(denied);
  await expect(send(benchmarker, { headers: { 'X-User': 'ada' } })).rejects.toMatchObject(denied);
  await send(developer, { method: 'POST' });
});

test('a copy of the release needs the right to deploy', async () => {
  const copy = (caller: Caller, server: string) =>
    caller.benchmark.create({ appId, plan: { upstream: 'lab', labApp: { server } } as object });
  await copy(benchmarker, 'puma');
  await expect(copy(benchmarker, 'release')).rejects.toMatchObject(denied);
  await copy(developer, 'release');
});

/** Adds a connected server to an organization. */
async function addServer(organizationId: OrganizationId): Promise<ServerId> {
  const id = newId('srv');
  await api.world.system(async ({ tx, clock }) => {
    const { serverId } = api.world;
    const needed = ['benchmark.distributed', 'certificate.challenge'];
    await tx.server.update({ where: { id: serverId }, data: { capabilities: { push: needed } } });
    const { capabilities } = await tx.server.findUniqueOrThrow({ where: { id: serverId } });
    await tx.server.create({
      data: {
        ...{ id, organizationId, name: id, publicKey: new Uint8Array(32), capabilities },
        ...{ connectedGateway: 'test-gateway', lastSeenAt: clock.now() },
      },
    });
  });
  return id;
}

/** Adds a person who may benchmark in the app's environment, and nowhere else. */
async function addGuest(name: string): Promise<Caller> {
  const { organizationId } = api.world;
  const roleId = newId('rol');
  await api.world.system(({ tx }) =>
    tx.customRole.create({ data: { id: roleId, organizationId, name, permissions: [] } }),
  );
  const guest = api.caller((await api.signUp(name, roleId)).cookie);
  const { environmentId } = await api.world.system(({ tx }) => tx.placement.findFirstOrThrow({ where: { appId } }));
  await api.world.system(({ tx }) =>
    tx.roleGrant.create({
      data: { id: newId('grt'), organizationId, memberId: `mem_${name}`, role: 'developer', environmentId },
    }),
  );
  return guest;
}

test('load servers belong to the organization and need the right to benchmark in all of it', async () => {
  const { organizationId } = api.world;
  const load = (caller: Caller, ...loadServerIds: ServerId[]) =>
    caller.benchmark.create({ appId, plan: { targets: ['proxy'] } as object, loadServerIds });
  const own = await addServer(organizationId);
  await expect(load(benchmarker, own)).rejects.toMatchObject({
    cause: { published: { errorCode: 'benchmark.host_unverified' } },
  });
  await api.world.system(({ tx }) => tx.domainHost.updateMany({ data: { state: 'ready' } }));
  await load(benchmarker, own);

  const guest = await addGuest('Guest');
  await guest.benchmark.create({ appId, plan: { targets: ['proxy'] } as object });
  await expect(load(guest, own)).rejects.toMatchObject(denied);

  const other = await api.world.system(({ tx }) =>
    tx.organization.create({ data: { id: newId('org'), name: 'Rival', slug: 'rival' } }),
  );
  const foreign = await addServer(parseId('org', other.id));
  const unknown = { cause: { published: { errorCode: 'server.not_found' } } };
  await expect(load(benchmarker, foreign)).rejects.toMatchObject(unknown);
  await expect(load(benchmarker, newId('srv'))).rejects.toMatchObject(unknown);
});

test('load servers of a saved plan need the right to benchmark in the organization, but taking load away does not', async () => {
  const { organizationId } = api.world;
  const own = await addServer(organizationId);
  const guest = await addGuest('Planner');
  const plan = { targets: ['proxy'] } as object;
  const nightly = { weekday: null, hour: 3, timeZone: 'UTC' };
  const mine = await guest.benchmarkPlan.create({ appId, name: 'Mine', plan });
  await expect(guest.benchmarkPlan.create({ appId, name: 'Load', plan, loadServerIds: [own] })).rejects.toMatchObject(
    denied,
  );
  const added = guest.benchmarkPlan.update({ ...mine, version: 1, loadServerIds: [own] });
  await expect(added).rejects.toMatchObject(denied);

  const { planId } = await benchmarker.benchmarkPlan.create({ appId, name: 'Load', plan, loadServerIds: [own] });
  await benchmarker.benchmarkPlan.updateSchedule({ planId, version: 1, schedule: nightly });
  await guest.benchmarkPlan.pauseSchedule({ planId, version: 1, paused: true });
  await expect(guest.benchmarkPlan.pauseSchedule({ planId, version: 1, paused: false })).rejects.toMatchObject(denied);
  await expect(guest.benchmarkPlan.updateSchedule({ planId, version: 1, schedule: nightly })).rejects.toMatchObject(
    denied,
  );
  // More load would reach the load servers too.
  const more = { ...plan, concurrency: [64] };
  await expect(guest.benchmarkPlan.update({ planId, version: 1, plan: more })).rejects.toMatchObject(denied);
  await guest.benchmarkPlan.update({ planId, version: 1, loadServerIds: [] });
  await guest.benchmarkPlan.updateSchedule({ planId, version: 2, schedule: nightly });
});

test('a schedule with load servers needs the approval of protected environments that have an app on them', async () => {
  const { organizationId } = api.world;
  const own = await addServer(organizationId);
  const { planId } = await benchmarker.benchmarkPlan.create({
    ...{ appId, name: 'Beside', plan: { targets: ['proxy'] } as object, loadServerIds: [own] },
  });
  const environmentId = newId('env');
  await api.world.system(async ({ tx }) => {
    const { projectId } = await tx.environment.findFirstOrThrow({ where: { organizationId } });
    await tx.environment.create({
      data: { id: environmentId, organizationId, projectId, name: 'Live', slug: 'live', protected: true },
    });
    const servers = { create: { serverId: own, position: 0 } };
    await tx.placement.create({
      data: { id: newId('plc'), organizationId, appId, environmentId, branch: 'main', servers },
    });
  });
  const schedule = (caller: Caller, id: typeof planId) =>
    caller.benchmarkPlan.updateSchedule({
      ...{ planId: id, version: 1, schedule: { weekday: null, hour: 3, timeZone: 'UTC' } },
    });
  const refusal = { cause: { published: { errorCode: 'environment.protected' } } };
  await expect(schedule(benchmarker, planId)).rejects.toMatchObject(refusal);
  await expect(benchmarker.benchmarkPlan.update({ planId, version: 1, name: 'Night' })).rejects.toMatchObject(refusal);
  await schedule(owner, planId);
  await owner.benchmarkPlan.update({ planId, version: 1, plan: { targets: ['proxy'], concurrency: [64] } as object });
  // The approval is for the plan that the approver saw.
  const outdated = { cause: { published: { errorCode: 'benchmark_plan.outdated' } } };
  await expect(schedule(owner, planId)).rejects.toMatchObject(outdated);
  const resumed = owner.benchmarkPlan.pauseSchedule({ planId, version: 1, paused: false });
  await expect(resumed).rejects.toMatchObject(outdated);
  const alone = await benchmarker.benchmarkPlan.create({
    appId,
    name: 'Alone',
    plan: { targets: ['proxy'] } as object,
  });
  await schedule(benchmarker, alone.planId);
});

test.each(['route-change', 'proxy-upgrade'])('the scenario %s needs the right to change servers', async (scenario) => {
  await expect(start(developer, scenario)).rejects.toMatchObject(denied);
  await start(owner, scenario);
});
