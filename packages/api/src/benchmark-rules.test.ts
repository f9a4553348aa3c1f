// Tests that scenarios which act on an app or its server need what the same action needs elsewhere.
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

test.each(['route-change', 'proxy-upgrade'])('the scenario %s needs the right to change servers', async (scenario) => {
  await expect(start(developer, scenario)).rejects.toMatchObject(denied);
  await start(owner, scenario);
});
