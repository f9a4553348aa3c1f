// Apps without a repository: for an image or for uploaded folders. An agent never gets one without a source.
import { newId, parseId } from '@fairlead/contract/ids';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { z } from 'zod';
import { autoscalingSchema } from '../config/index.ts';
import { createDeployment, getDeployment } from '../deployment/index.ts';
import { type TestWorld, testWorld } from '../testing/index.ts';
import { createApp, createAppInputSchema, getApp, updateApp, updateConfig } from './index.ts';

let db: TestDatabase;
let world: TestWorld;

beforeAll(async () => {
  db = await testDatabase();
  world = await testWorld(db.database);
});
afterAll(() => db.drop());

const hosts = { controlHost: 'fairlead.localhost', publicHost: '' };
const create = (input: z.input<typeof createAppInputSchema>) =>
  world.tenant((ctx) => createApp(ctx, createAppInputSchema.parse(input), { hosts, keys: world.keys }));

test('an app without a repository is not deployed until it has an image', async () => {
  const serverIds = [world.serverId];
  const { id: appId } = await create({ name: 'Image', source: { kind: 'upload' }, serverIds, firstDeploy: 'none' });
  const deploy = () => world.tenant((ctx) => createDeployment(ctx, { appId }));
  await expect(deploy()).rejects.toMatchObject({ code: 'deployment.no_source' });
  const settings = (values: Parameters<typeof updateConfig>[1]['settings']) =>
    world.tenant((ctx) => updateConfig(ctx, { appId, settings: values }));
  await settings({ builder: 'image', image: 'registry.example.test/shop:2' });
  const { deploymentId } = await deploy();
  // The settings changed while it waited: an agent would refuse its whole state for a build of nothing.
  await settings({ builder: 'auto' });
  await world.advance(deploymentId);
  const deployment = await world.tenant((ctx) => getDeployment(ctx, { deploymentId }));
  expect(deployment).toMatchObject({ state: 'failed', failureCode: 'deployment.no_source' });
  expect((await world.desired()).builds).toEqual([]);
});

test('a request waits 1 to 120 seconds for a sleeping app, 30 by default', () => {
  const autoscaling = { instancesMin: 0, instancesMax: 1 };
  expect(autoscalingSchema.parse(autoscaling).wakeTimeoutMs).toBe(30_000);
  const taken = [999, 1000, 120_000, 120_001].map(
    (ms) => autoscalingSchema.safeParse({ ...autoscaling, wakeTimeoutMs: ms }).success,
  );
  expect(taken).toEqual([false, true, true, false]);
});

test('an app is created in the environment that is named, and a branch belongs to one environment', async () => {
  const { serverId, organizationId } = world;
  const environmentId = newId('env');
  await world.system(async ({ tx }) => {
    const { id: projectId } = await tx.project.findFirstOrThrow({ where: { organizationId } });
    const row = { id: environmentId, organizationId, projectId, name: 'Staging', slug: 'staging' };
    await tx.environment.create({ data: row });
  });
  const source = { kind: 'git', repositoryUrl: 'https://git.example.test/shop.git', branch: 'main' } as const;
  const { id: appId, slug } = await create({ name: 'Staged', source, environmentId, serverIds: [serverId] });
  const primary = await world.system(({ tx }) => tx.placement.findFirstOrThrow({ where: { appId } }));
  expect(primary).toMatchObject({ environmentId, isPrimary: true });
  const production = await world.system(({ tx }) =>
    tx.environment.findFirstOrThrow({ where: { organizationId, name: 'Production' } }),
  );
  await world.addEnvironment(appId, { environmentId: parseId('env', production.id) });
  await world.tenant((ctx) => updateApp(ctx, { appId, branch: 'next' }));
  const { placements } = await world.tenant((ctx) => getApp(ctx, { slug }, { localHttpsPort: 443, localHttpPort: 80 }));
  expect(placements.map(({ environmentName, branch }) => [environmentName, branch])).toEqual([
    ['Staging', 'next'],
    ['Production', 'main'],
  ]);
});
