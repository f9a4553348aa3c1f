// Tests for the status of an app on several servers, in lists and on the overview page.
import { newId, parseId } from '@fairlead/contract/ids';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { autoscalingSchema } from '../config/index.ts';
import { getOverview } from '../overview/index.ts';
import { attachServer } from '../placement/index.ts';
import { type TestWorld, testWorld, wholeOverview } from '../testing/index.ts';
import { listApps, updateConfig } from './index.ts';

const links = { localHttpsPort: 443, localHttpPort: 80, controlHost: '', publicHost: '' };
let db: TestDatabase;
let world: TestWorld;

beforeAll(async () => {
  db = await testDatabase();
  world = await testWorld(db.database);
});
afterAll(() => db.drop());

test('each server needs its own copies; a sleeping one is enough if the minimum is none', async () => {
  const { appId, deploymentId } = await world.createApp('Shop', { host: 'shop.example.test' });
  await world.advance(deploymentId ?? '');
  await world.finish(deploymentId ?? '');
  const { organizationId } = world;
  const second = newId('srv');
  const publicKey = new Uint8Array(32).fill(9);
  await world.system(({ tx }) => tx.server.create({ data: { id: second, organizationId, name: 'edge', publicKey } }));
  await world.tenant((ctx) => attachServer(ctx, { appId, serverId: second }));
  const { environmentId, liveReleaseId } = await world.system(async ({ tx }) => {
    const where = { placement: { appId } };
    const first = await tx.placementServer.findFirstOrThrow({
      where: { ...where, serverId: world.serverId },
      select: { liveReleaseId: true, placement: { select: { environmentId: true } } },
    });
    const { liveReleaseId } = first;
    await tx.placementServer.updateMany({ where, data: { liveReleaseId } });
    await tx.placement.updateMany({ where: { appId }, data: { instances: 2 } });
    // Both are connected and have applied their state.
    await tx.$executeRaw`UPDATE server SET connected_gateway = 'gateway', last_seen_at = ${world.clock.now()},
      applied_epoch = desired_epoch, applied_number = desired_number WHERE organization_id = ${organizationId}`;
    return { liveReleaseId, environmentId: first.placement.environmentId };
  });
  const run = (serverId: string, states: readonly string[]) =>
    world.system(async ({ tx }) => {
      await tx.instance.deleteMany({ where: { appId, serverId } });
      const values = { organizationId, appId, environmentId, serverId, releaseId: liveReleaseId ?? '' };
      await tx.instance.createMany({
        data: states.map((state) => ({ ...values, id: newId('ins'), state, reportedAt: world.clock.now() })),
      });
    });
  const status = async () => (await world.tenant((ctx) => listApps(ctx, { limit: 1 }, links))).items[0]?.status;
  const said = async () =>
    (await world.tenant((ctx) => getOverview(ctx, {}, wholeOverview(links)))).attention.groups
      .filter(({ kind }) => kind === 'app_unhealthy')
      .flatMap(({ causes }) => causes.flatMap(({ items }) => items));

  await run(world.serverId, ['healthy', 'healthy', 'healthy']);
  await run(second, ['healthy', 'crashed']);
  expect(await status()).toBe('unhealthy');
  expect(await said()).toMatchObject([
    { environmentId, detail: expect.stringContaining('3 of 4 instances in Production') },
  ]);
  await run(second, ['healthy', 'healthy']);
  expect(await status()).toBe('healthy');
  expect(await said()).toEqual([]);

  const autoscaling = autoscalingSchema.parse({ instancesMin: 0, instancesMax: 3 });
  await world.tenant((ctx) => updateConfig(ctx, { appId: parseId('app', appId), settings: { autoscaling } }));
  await run(second, ['asleep']);
  await world.system(({ tx }) => tx.$executeRaw`UPDATE server SET applied_number = desired_number`);
  expect(await status()).toBe('healthy');
  expect(await said()).toEqual([]);
});
