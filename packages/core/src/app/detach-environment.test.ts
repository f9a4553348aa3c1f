// Removal of an app from an environment, and deletion of an environment: deleted rows, kept rows and refusals.

import { type AppId, type EnvironmentId, newId, parseId } from '@fairlead/contract/ids';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { benchmarkPlanSchema, createBenchmark } from '../benchmark/index.ts';
import { createDeployment, getDeployment } from '../deployment/index.ts';
import { attachDomain } from '../domain/index.ts';
import { deleteEnvironment, listEnvironments } from '../environment/index.ts';
import { attachServer, detachServer } from '../placement/index.ts';
import { listSecrets, updateSecrets } from '../secret/index.ts';
import { auditEventsOf, type TestWorld, testWorld } from '../testing/index.ts';
import { deleteVolume, listVolumes } from '../volume/index.ts';
import { detachEnvironment, getApp, updateConfig } from './index.ts';

let db: TestDatabase;
let world: TestWorld;
let appId: AppId;
let primary: EnvironmentId;
let staging: EnvironmentId;
let count = 0;
const links = { localHttpsPort: 443, localHttpPort: 80, controlHost: '', publicHost: '' };

beforeAll(async () => {
  db = await testDatabase();
});
afterAll(() => db.drop());
beforeEach(async () => {
  count += 1;
  world = await testWorld(db.database, `acme-${count}`);
  ({ appId } = await world.createApp('Shop', { host: `shop-${count}.example.test`, deployNow: false }));
  primary = (await get()).environmentId;
  // Placements are ordered by age, and the clock of the tests stands still until it is moved forward.
  world.clock.forward(1);
  staging = await world.addEnvironment(appId, { name: 'Staging' }, { branch: 'next' });
});

const get = () => world.tenant((ctx) => getApp(ctx, { slug: 'shop' }, links));
const names = async () => (await world.tenant((ctx) => listEnvironments(ctx))).items.map(({ name }) => name);
const audited = async (action: string) => (await auditEventsOf(world)).filter((event) => event.action === action);
const detach = (environmentId = staging, confirmName = 'Shop') =>
  world.tenant((ctx) => detachEnvironment(ctx, { appId, environmentId, confirmName }));
const end = (environmentId = staging, confirmName = 'Staging') =>
  world.tenant((ctx) => deleteEnvironment(ctx, { environmentId, confirmName }));

async function goLive(): Promise<void> {
  const { deploymentId } = await world.tenant((ctx) => createDeployment(ctx, { appId, environmentId: staging }));
  await world.advance(deploymentId);
  await world.finish(deploymentId);
}

test('an app leaves an environment: it stops there, its domains are free, its history, settings and secrets stay', async () => {
  const owner = { appId, environmentId: staging };
  await goLive();
  await world.tenant((ctx) => updateSecrets(ctx, { owner, items: [{ name: 'A', value: 'x' }] }, world.keys));
  await world.tenant((ctx) => updateConfig(ctx, { ...owner, settings: { releasesKept: 7 } }));
  await world.tenant((ctx) =>
    attachDomain(ctx, { ...owner, host: `next-${count}.example.test`, pathPrefix: '/' }, links),
  );
  await world.tenant((ctx) =>
    attachDomain(ctx, { ...owner, host: `next-${count}.example.test`, pathPrefix: '/api' }, links),
  );
  const run = await world.tenant((ctx) => createBenchmark(ctx, { ...owner, plan: benchmarkPlanSchema.parse({}) }));
  const waiting = await world.tenant((ctx) => createDeployment(ctx, owner));
  const before = await world.desired();
  expect(before.apps.map(({ environmentId }) => environmentId)).toEqual([staging]);

  expect(await detach()).toEqual({ appId, environmentId: staging });
  const after = await world.desired();
  expect(after).toMatchObject({ apps: [], benchmarks: [] });
  expect(after.routes.map(({ host }) => host)).not.toContain(`next-${count}.example.test`);
  expect(after.version?.number).toBeGreaterThan(before.version?.number ?? 0n);
  expect((await get()).placements.map(({ environmentId }) => environmentId)).toEqual([primary]);
  const { state } = await world.tenant((ctx) => getDeployment(ctx, waiting));
  expect(state).toBe('cancelled');
  const measured = await world.system(({ tx }) => tx.benchmarkRun.findFirstOrThrow({ where: { id: run.runId } }));
  expect(measured.state).toBe('cancelled');
  expect(await audited('app.detach_environment')).toMatchObject([
    {
      before: { environmentName: 'Staging', domains: [`next-${count}.example.test`, `next-${count}.example.test/api`] },
    },
  ]);

  // Back again, it finds what was written; nothing runs before it is deployed.
  await world.addEnvironment(appId, { environmentId: staging });
  expect((await world.tenant((ctx) => listSecrets(ctx, owner))).secrets.map(({ name }) => name)).toEqual(['A']);
  expect((await world.desired()).apps).toEqual([]);
});

test('an app cannot leave its primary environment, nor another one during a deployment, or with a wrong name', async () => {
  await expect(detach(primary)).rejects.toMatchObject({ code: 'placement.primary' });
  await expect(detach(staging, 'shop')).rejects.toMatchObject({ code: 'app.confirm_mismatch' });
  const { deploymentId } = await world.tenant((ctx) => createDeployment(ctx, { appId, environmentId: staging }));
  await world.advance(deploymentId);
  await expect(detach()).rejects.toMatchObject({ code: 'placement.under_way' });
  expect((await get()).placements).toHaveLength(2);
  await expect(detach(parseId('env', newId('env')))).rejects.toMatchObject({ code: 'app.not_found' });
});

test('an app stays in its primary environment when the primary server there is removed', async () => {
  const { organizationId, serverId } = world;
  const second = newId('srv');
  const publicKey = new Uint8Array(32).fill(count + 100);
  await world.system(({ tx }) => tx.server.create({ data: { id: second, organizationId, name: 'edge', publicKey } }));
  await world.tenant((ctx) => attachServer(ctx, { appId, environmentId: primary, serverId: second }));
  await world.tenant((ctx) => detachServer(ctx, { appId, environmentId: primary, serverId }));
  expect((await get()).environmentId).toBe(primary);
  await expect(detach(primary)).rejects.toMatchObject({ code: 'placement.primary' });
});

test('an environment is deleted with all of its rows except volumes; not with apps in it, not the first of its project', async () => {
  await goLive();
  await world.tenant((ctx) =>
    updateSecrets(ctx, { owner: { appId, environmentId: staging }, items: [{ name: 'A', value: 'x' }] }, world.keys),
  );
  const { organizationId } = world;
  await world.system(({ tx }) =>
    tx.volume.create({
      data: { id: newId('vol'), organizationId, appId, environmentId: staging, name: 'data', label: 'Shop · Staging' },
    }),
  );
  const volumes = [{ name: 'data', path: '/data', snapshots: 'off' as const }];
  await world.tenant((ctx) => updateConfig(ctx, { appId, environmentId: staging, settings: { volumes } }));
  const listed = async () =>
    (await world.tenant((ctx) => listVolumes(ctx, {}))).items.map(({ inUse, isLeft }) => ({ inUse, isLeft }));
  expect(await listed()).toEqual([{ inUse: true, isLeft: false }]);
  await expect(end()).rejects.toMatchObject({ code: 'environment.in_use' });
  await detach();
  // Its settings wait for its return, but anyone may still delete it, with the usual delay.
  expect(await listed()).toEqual([{ inUse: false, isLeft: true }]);
  const [volume] = (await world.tenant((ctx) => listVolumes(ctx, {}))).items;
  const volumeId = volume?.id ?? parseId('vol', '');
  await world.tenant((ctx) => deleteVolume(ctx, { volumeId, confirmName: 'data' }));
  // No settings name this one any more.
  const old = { id: newId('vol'), organizationId, appId, environmentId: staging, name: 'old', label: 'Shop · Staging' };
  await world.system(({ tx }) => tx.volume.create({ data: { ...old, deleteAt: world.clock.now() } }));
  await world.addEnvironment(appId, { environmentId: staging });
  expect((await world.tenant((ctx) => listVolumes(ctx, {}))).items).toMatchObject([
    { name: 'data', deleteAt: null, inUse: true, isLeft: false },
    { name: 'old', deleteAt: expect.any(Date) },
  ]);
  expect(await audited('volume.restore')).toMatchObject([{ targetId: volumeId, after: { deleteAt: null } }]);
  await detach();
  await expect(end(staging, 'staging')).rejects.toMatchObject({ code: 'environment.confirm_mismatch' });
  await expect(end(primary, 'Production')).rejects.toMatchObject({ code: 'environment.first' });
  expect(await end()).toEqual({ environmentId: staging });
  expect(await names()).toEqual(['Production']);
  await expect(end()).rejects.toMatchObject({ code: 'environment.not_found' });
  const left = await world.system(async ({ tx }) => ({
    secrets: await tx.secret.count({ where: { organizationId } }),
    deployments: await tx.deployment.count({ where: { organizationId } }),
    releases: await tx.release.count({ where: { organizationId } }),
    volumes: await tx.volume.count({ where: { organizationId } }),
  }));
  expect(left).toEqual({ secrets: 0, deployments: 0, releases: 0, volumes: 2 });
  expect(await audited('environment.delete')).toMatchObject([{ before: { name: 'Staging' } }]);
});
