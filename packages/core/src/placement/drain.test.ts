// Drain of a server: what leaves it, what stays and why, and that no deployment starts on it.
import { create } from '@bufbuild/protobuf';
import { type BuildStatus, ReportSchema, type RolloutStatus, WorkState } from '@fairlead/contract/agent';
import { type AppId, newId, parseId, type ServerId } from '@fairlead/contract/ids';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { updateConfig } from '../app/index.ts';
import { recordArtifact } from '../artifact/index.ts';
import { createDeployment, getDeployment, restartApp } from '../deployment/index.ts';
import { forOrganization } from '../kernel/index.ts';
import { recordReport } from '../link/index.ts';
import { deleteServer } from '../server/index.ts';
import { auditOf, builtStatus, commitHash, rolloutStatus, type TestWorld, testWorld } from '../testing/index.ts';
import { moveApps } from '../volume-move/index.ts';
import { stayReason } from './drained-apps.ts';
import { attachServer, drainServer, getDrain, requirePlacement } from './index.ts';

const capabilities = ['transfer', 'volume', 'build.plan'];
let db: TestDatabase;
let world: TestWorld;
let edge: ServerId;
let appId: AppId;

beforeEach(async () => {
  db = await testDatabase();
  world = await testWorld(db.database);
  edge = newId('srv');
  const { organizationId } = world;
  const link = { connectedGateway: 'test-gateway', lastSeenAt: world.clock.now(), capabilities };
  await world.system(async ({ tx }) => {
    await tx.server.updateMany({ data: link });
    await tx.server.create({ data: { id: edge, organizationId, name: 'edge', publicKey: Buffer.from(edge), ...link } });
  });
  appId = (await world.createApp('Shop', { host: 'shop.example.test', deployNow: false })).appId;
});
afterEach(() => db.drop());

const isAllowed = () => Promise.resolve();
const attach = (serverId = edge) => world.tenant((ctx) => attachServer(ctx, { appId, serverId }));
const drain = (serverId = world.serverId, drained = true) =>
  world.tenant((ctx) => drainServer(ctx, { serverId, drained }, isAllowed));
const stays = async (serverId = world.serverId) =>
  (await world.tenant((ctx) => getDrain(ctx, { serverId }))).apps.map((each) => each.stays);
const servers = async () =>
  (await world.tenant((ctx) => requirePlacement(ctx, { appId }))).servers.map(({ serverId }) => serverId);
const say = (serverId: string, parts: { builds?: BuildStatus[]; rollouts?: RolloutStatus[] }) =>
  world.system((ctx) => recordReport(ctx, { serverId, report: create(ReportSchema, parts) }));
const get = (deploymentId: string) =>
  world.tenant((ctx) => getDeployment(ctx, { deploymentId: parseId('dep', deploymentId) }));
const begin = async () => (await world.tenant((ctx) => createDeployment(ctx, { appId }))).deploymentId;

/** Deploys the app; `builder` builds it, and the servers go live in that order. */
async function goLive(builder: ServerId, ...on: ServerId[]): Promise<string> {
  const deploymentId = await begin();
  await world.advance(deploymentId);
  await say(builder, { builds: [builtStatus(deploymentId)] });
  for (const serverId of on) await say(serverId, { rollouts: [rolloutStatus(deploymentId, WorkState.SUCCEEDED)] });
  expect((await get(deploymentId)).state).toBe('live');
  return deploymentId;
}

test.each([
  [null, {}],
  ['volumes', { hasVolumes: true }],
  ['volumes', { hasVolumes: true, others: [] }],
  ['only_here', { others: [] }],
  ['only_here', { others: [{ isLive: true, isConnected: true, isDrained: true }] }],
  ['under_way', { isUnderWay: true }],
  ['not_live_elsewhere', { others: [{ isLive: false, isConnected: true, isDrained: false }] }],
  ['offline_elsewhere', { others: [{ isLive: true, isConnected: false, isDrained: false }] }],
])('the reason to stay is %j with %j', (reason, changes) => {
  const others = [{ isLive: true, isConnected: true, isDrained: false }];
  expect(stayReason({ hasVolumes: false, isUnderWay: false, others, ...changes })).toBe(reason);
});

test('an app that also runs elsewhere leaves a drained server, and its other server becomes the primary one', async () => {
  await attach();
  await goLive(world.serverId, world.serverId, edge);
  expect(await stays()).toEqual([null]);
  const state = await drain();
  expect(state).toMatchObject({ drainedAt: world.clock.now(), drainedBy: 'Owner of acme', apps: [] });
  expect(await servers()).toEqual([edge]);
  expect((await world.desired()).apps).toEqual([]);
  expect((await auditOf(world)).slice(-2)).toEqual(['server.drain', 'app.detach_server']);
});

test('nothing new comes to a drained server until its drain ends', async () => {
  await goLive(world.serverId, world.serverId);
  expect((await drain()).apps).toMatchObject([{ name: 'Shop', stays: 'only_here' }]);
  const refused = { code: 'server.drained' };
  await expect(begin()).rejects.toMatchObject(refused);
  await expect(world.tenant((ctx) => restartApp(ctx, { appId }))).rejects.toMatchObject(refused);
  await expect(world.createApp('Other')).rejects.toMatchObject(refused);
  await drain(edge);
  await expect(attach()).rejects.toMatchObject(refused);
  expect(await drain(world.serverId, false)).toMatchObject({ drainedAt: null, drainedBy: null });
  await goLive(world.serverId, world.serverId);
});

test('an app moves: another server is added and deployed to, then the drained one is left', async () => {
  await goLive(world.serverId, world.serverId);
  await drain();
  await attach();
  expect(await stays()).toEqual(['not_live_elsewhere']);
  const former = await world.desired();
  // It builds and rolls out on the other server alone; the drained one keeps its release.
  const deploymentId = await goLive(edge, edge);
  expect((await get(deploymentId)).servers.map(({ serverId }) => serverId)).toEqual([edge]);
  expect((await world.desired()).apps[0]?.live?.releaseId).toBe(former.apps[0]?.live?.releaseId);
  expect(await stays()).toEqual([null]);
  expect((await drain()).apps).toEqual([]);
  expect(await servers()).toEqual([edge]);
});

test('a build server that is drained names the apps that it builds, and does not build', async () => {
  const builds = async () => (await world.tenant((ctx) => getDrain(ctx, { serverId: edge }))).builds;
  const build = (buildServerId: ServerId | null) =>
    world.tenant((ctx) => updateConfig(ctx, { appId, settings: { buildServerId } }));
  expect(await builds()).toEqual([]);
  await build(edge);
  expect(await builds()).toMatchObject([{ appId, name: 'Shop', environmentName: 'Production' }]);
  await build(null);
  expect(await builds()).toEqual([]);
  await build(edge);
  expect((await drain(edge)).builds).toHaveLength(1);
  await goLive(world.serverId, world.serverId);
  await drain(edge, false);
  await attach();
  // It runs there now, and is listed once.
  expect(await builds()).toEqual([]);
  await drain(edge);
  await goLive(world.serverId, world.serverId);
});

test('without its deleted build server an app builds on its first server, and its settings still save', async () => {
  const update = (settings: object) => world.tenant((ctx) => updateConfig(ctx, { appId, settings }));
  await update({ buildServerId: edge });
  await world.tenant((ctx) => deleteServer(ctx, { serverId: edge, confirmName: 'edge' }));
  await goLive(world.serverId, world.serverId);
  await update({ buildCommand: 'npm run pack' });
  const foreign = { buildServerId: newId('srv') };
  await expect(update(foreign)).rejects.toMatchObject({ code: 'server.not_found' });
});

test('a deployment that waited when its servers were drained fails with the reason', async () => {
  const deploymentId = await begin();
  await drain();
  await world.advance(deploymentId);
  expect(await get(deploymentId)).toMatchObject({ state: 'failed', failureCode: 'server.drained' });
});

test('an app with volumes or a running deployment stays, and leaves later', async () => {
  await attach();
  await goLive(world.serverId, world.serverId, edge);
  const { organizationId } = world;
  const { environmentId } = await world.tenant((ctx) => requirePlacement(ctx, { appId }));
  const id = newId('vol');
  await world.system(({ tx }) =>
    tx.volume.create({ data: { id, organizationId, appId, environmentId, name: 'data', label: 'Shop' } }),
  );
  expect((await drain()).apps).toMatchObject([{ stays: 'volumes' }]);
  await world.system(({ tx }) => tx.volume.delete({ where: { id } }));
  const deploymentId = await begin();
  await world.advance(deploymentId);
  expect((await drain()).apps).toMatchObject([{ stays: 'under_way' }]);
  expect(await servers()).toEqual([world.serverId, edge]);
});

const move = () => world.tenant((ctx) => moveApps(ctx, { serverId: world.serverId, targetServerId: edge }, isAllowed));
const store = (digest: string) =>
  world.system((ctx) =>
    recordArtifact(forOrganization(ctx, world.organizationId), { digest, kind: 'build', sizeBytes: 4096 }),
  );
const markOffline = () =>
  world.system(({ tx }) => tx.server.update({ where: { id: world.serverId }, data: { connectedGateway: null } }));

test('apps of a dead server move to another one from the artifact store, without its answer', async () => {
  await goLive(world.serverId, world.serverId);
  await store(`sha256:${'a'.repeat(64)}`);
  await markOffline();
  await expect(move()).rejects.toMatchObject({ code: 'server.not_drained' });
  await drain();
  const { items } = await move();
  expect(items).toMatchObject([{ appId }]);
  const deploymentId = items[0]?.deploymentId ?? '';
  expect((await get(deploymentId)).trigger).toBe('restart');
  await world.advance(deploymentId);
  expect(await stays()).toEqual(['under_way']);
  await say(edge, { rollouts: [rolloutStatus(deploymentId, WorkState.SUCCEEDED)] });
  expect((await get(deploymentId)).state).toBe('live');
  expect((await move()).items).toEqual([]);
  expect((await drain()).apps).toEqual([]);
  expect(await servers()).toEqual([edge]);
});

test('an app with volumes moves from a dead server only on request, and leaves its data behind', async () => {
  await goLive(world.serverId, world.serverId);
  await store(`sha256:${'a'.repeat(64)}`);
  const { organizationId } = world;
  const { environmentId } = await world.tenant((ctx) => requirePlacement(ctx, { appId }));
  const volume = { id: newId('vol'), organizationId, appId, environmentId, name: 'data', label: 'Shop' };
  await world.system(({ tx }) => tx.volume.create({ data: volume }));
  await markOffline();
  const host = 'shop.example.test';
  expect((await drain()).apps).toMatchObject([{ stays: 'volumes', hasVolumes: true, hosts: [host] }]);
  expect((await move()).items).toEqual([]);
  const leave = { serverId: world.serverId, leaveVolumes: true };
  const { items } = await world.tenant((ctx) => moveApps(ctx, { ...leave, targetServerId: edge }, isAllowed));
  const deploymentId = items[0]?.deploymentId ?? '';
  await world.advance(deploymentId);
  await say(edge, { rollouts: [rolloutStatus(deploymentId, WorkState.SUCCEEDED)] });
  expect((await drain()).apps).toMatchObject([{ stays: 'volumes' }]);
  expect((await world.tenant((ctx) => getDrain(ctx, leave))).apps).toMatchObject([{ stays: null }]);
  expect((await world.tenant((ctx) => drainServer(ctx, { ...leave, drained: true }, isAllowed))).apps).toEqual([]);
  expect(await servers()).toEqual([edge]);
});

test('an app whose artifact is lost is built again from its commit', async () => {
  await goLive(world.serverId, world.serverId);
  await markOffline();
  await drain();
  const deploymentId = (await move()).items[0]?.deploymentId ?? '';
  expect(await get(deploymentId)).toMatchObject({ ref: commitHash, state: 'queued' });
  await world.advance(deploymentId);
  await say(edge, { builds: [builtStatus(deploymentId)] });
  await say(edge, { rollouts: [rolloutStatus(deploymentId, WorkState.SUCCEEDED)] });
  expect((await get(deploymentId)).state).toBe('live');
  expect(await stays()).toEqual([null]);
});

test('an app that was never live moves without a deployment, and one that waits for a deployment stays', async () => {
  const other = await world.createApp('Waits');
  await drain();
  await expect(
    world.tenant((ctx) => moveApps(ctx, { serverId: world.serverId, targetServerId: world.serverId }, isAllowed)),
  ).rejects.toMatchObject({ code: 'server.drained' });
  expect((await move()).items).toMatchObject([{ appId, deploymentId: null }]);
  const placed = await world.tenant((ctx) => requirePlacement(ctx, { appId: other.appId }));
  expect(placed.servers.map(({ serverId }) => serverId)).toEqual([world.serverId]);
});
