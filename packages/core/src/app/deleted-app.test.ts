// Deletion of an app: what stops and hides, what stays reserved, the restore, and the purge.
import { type AppId, type EnvironmentId, newId, parseId } from '@fairlead/contract/ids';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { pruneArtifacts, recordArtifact } from '../artifact/index.ts';
import { benchmarkPlanSchema, createBenchmark } from '../benchmark/index.ts';
import { createDeployment, failOverdueDeployments, getDeployment, rollbackApp } from '../deployment/index.ts';
import { attachDomain } from '../domain/index.ts';
import { deleteEnvironment } from '../environment/index.ts';
import { forOrganization, retention, withDeletedApps } from '../kernel/index.ts';
import { deleteProject, getProject, listProjects } from '../project/index.ts';
import {
  attachSecretGroup,
  createSecretGroup,
  deleteSecretGroup,
  listSecrets,
  recordSecretReminders,
  updateSecrets,
} from '../secret/index.ts';
import { deleteServer } from '../server/index.ts';
import { auditEventsOf, builtStatus, type TestWorld, testHosts, testWorld } from '../testing/index.ts';
import { listVolumes } from '../volume/index.ts';
import {
  deleteApp,
  findDueApps,
  getApp,
  listApps,
  listDeletedApps,
  purgeDeletedApp,
  purgeDueApp,
  restoreApp,
  updateApp,
  updateConfig,
} from './index.ts';

let db: TestDatabase;
let world: TestWorld;
let appId: AppId;
let environmentId: EnvironmentId;
let host: string;
let count = 0;

beforeAll(async () => {
  db = await testDatabase();
});
afterAll(() => db.drop());
beforeEach(async () => {
  count += 1;
  world = await testWorld(db.database, `acme-${count}`);
  host = `shop-${count}.example.test`;
  ({ appId } = await world.createApp('Shop', { host, deployNow: false }));
  ({ environmentId } = await get());
});

const get = () => world.tenant((ctx) => getApp(ctx, { slug: 'shop' }, testHosts));
const remove = (confirmName = 'Shop') => world.tenant((ctx) => deleteApp(ctx, { appId, confirmName }));
const restore = () => world.tenant((ctx) => restoreApp(ctx, { appId }));
const purge = (confirmName = 'Shop') => world.tenant((ctx) => purgeDeletedApp(ctx, { appId, confirmName }));
const listed = async () => (await world.tenant((ctx) => listDeletedApps(ctx))).items;
const audited = async (action: string) => (await auditEventsOf(world)).filter((event) => event.action === action);
const start = async () => (await world.tenant((ctx) => createDeployment(ctx, { appId }))).deploymentId;
const stateOf = async (deploymentId: string) =>
  (await world.tenant((ctx) => getDeployment(ctx, { deploymentId: parseId('dep', deploymentId) }))).state;
async function deploy(): Promise<void> {
  const deploymentId = await start();
  await world.advance(deploymentId);
  await world.finish(deploymentId);
}

test('a deleted app stops and disappears, and a restore brings back all of it', async () => {
  await deploy();
  const owner = { appId };
  await world.tenant((ctx) => updateSecrets(ctx, { owner, items: [{ name: 'A', value: 'x' }] }, world.keys));
  await world.tenant((ctx) => updateConfig(ctx, { appId, settings: { releasesKept: 7 } }));
  const [before, page] = [await world.desired(), await get()];
  const secrets = await world.tenant((ctx) => listSecrets(ctx, { appId }));

  const { purgeAt } = await remove();
  expect(purgeAt.getTime() - world.clock.now().getTime()).toBe(retention.deletedAppMs);
  const stopped = await world.desired();
  expect(stopped.apps).toEqual([]);
  // Its hosts stay, and the proxy answers for the app that does not run.
  const value = { appId, environmentId };
  expect(stopped.routes).toMatchObject([{ host, target: { case: 'app', value } }]);
  expect(stopped.version?.number).toBeGreaterThan(before.version?.number ?? 0n);
  // Its servers keep the artifacts that it would start from.
  expect(stopped.keptArtifacts).toEqual(before.keptArtifacts);
  await expect(get()).rejects.toMatchObject({ code: 'app.not_found' });
  expect((await world.tenant((ctx) => listApps(ctx, { limit: 10 }, testHosts))).items).toEqual([]);
  expect((await world.tenant((ctx) => listProjects(ctx))).items.map(({ appCount }) => appCount)).toEqual([0]);
  const deletedBy = `Owner of acme-${count}`;
  expect(await listed()).toEqual([
    {
      ...{ id: appId, name: 'Shop', slug: 'shop', projectId: page.projectId, projectName: page.projectName },
      ...{ deletedAt: world.clock.now(), purgeAt, deletedBy },
    },
  ]);
  await expect(remove()).rejects.toMatchObject({ code: 'app.not_found' });

  expect(await restore()).toEqual({ id: appId, slug: 'shop' });
  const { version, ...after } = await world.desired();
  expect(after).toEqual({ ...before, version: undefined, $typeName: before.$typeName });
  expect(version?.number).toBeGreaterThan(stopped.version?.number ?? 0n);
  expect(await get()).toEqual(page);
  expect(await world.tenant((ctx) => listSecrets(ctx, { appId }))).toEqual(secrets);
  expect(await listed()).toEqual([]);
  await expect(restore()).rejects.toMatchObject({ code: 'app.not_deleted' });
  expect(await audited('app.delete')).toMatchObject([
    { targetLabel: 'Shop', after: { purgeAt: purgeAt.toISOString() } },
  ]);
  expect(await audited('app.restore')).toMatchObject([{ targetId: appId, targetLabel: 'Shop' }]);
});

test('a deletion needs the name, and so does a purge, which takes deleted apps only', async () => {
  await expect(remove('Stop')).rejects.toMatchObject({ code: 'app.confirm_mismatch' });
  await expect(purge()).rejects.toMatchObject({ code: 'app.not_deleted' });
  await remove();
  await expect(purge('Stop')).rejects.toMatchObject({ code: 'app.confirm_mismatch' });
  await purge();
  expect(await listed()).toEqual([]);
  expect(await audited('app.purge')).toMatchObject([{ targetLabel: 'Shop', before: { slug: 'shop' } }]);
});

test.each(['queued', 'building', 'rolling out'])('a deletion cancels a deployment that is %s', async (moment) => {
  await deploy();
  const before = await world.desired();
  const deploymentId = await start();
  if (moment !== 'queued') await world.advance(deploymentId);
  const digest = `sha256:${'b'.repeat(64)}`;
  if (moment === 'rolling out') await world.report({ builds: [builtStatus(deploymentId, { digest })] });
  await remove();
  const stopped = await world.desired();
  expect([stopped.apps, stopped.builds]).toEqual([[], []]);
  // Late jobs and reports of the deployment, and the sweep.
  await world.advance(deploymentId);
  await world.finish(deploymentId);
  world.clock.forward(60 * 60_000);
  expect(await world.system(failOverdueDeployments)).toEqual({ failed: 0, resumed: 0 });
  await restore();
  expect(await stateOf(deploymentId)).toBe('cancelled');
  // The release that was live before is live again.
  expect((await world.desired()).apps.map(({ live }) => live)).toEqual(before.apps.map(({ live }) => live));
});

test('a deletion ends a benchmark', async () => {
  await deploy();
  const plan = benchmarkPlanSchema.parse({});
  const { runId } = await world.tenant((ctx) => createBenchmark(ctx, { appId, plan }));
  await remove();
  expect((await world.desired()).benchmarks).toEqual([]);
  const run = await world.system(({ tx }) => tx.benchmarkRun.findUniqueOrThrow({ where: { id: runId } }));
  expect(run.state).toBe('cancelled');
});

test('name, slug and host names stay reserved until the purge', async () => {
  await remove();
  const again = () => world.createApp('Shop', { deployNow: false });
  await expect(again()).rejects.toMatchObject({ code: 'app.name_taken' });
  const other = await world.createApp('shop', { deployNow: false });
  expect(other.slug).toBe('shop-2');
  await expect(world.tenant((ctx) => updateApp(ctx, { appId: other.appId, name: 'Shop' }))).rejects.toMatchObject({
    code: 'app.name_taken',
  });
  const attach = (pathPrefix: string) =>
    world.tenant((ctx) => attachDomain(ctx, { appId: other.appId, host, pathPrefix }, testHosts));
  await expect(attach('/')).rejects.toMatchObject({ code: 'domain.taken' });
  // A path of its host must lead to the servers of the deleted app.
  await world.system(async ({ tx }) => {
    const [id, organizationId] = [newId('srv'), world.organizationId];
    await tx.server.create({ data: { id, organizationId, name: 'other', publicKey: Buffer.from(id) } });
    await tx.placementServer.updateMany({ where: { placement: { appId: other.appId } }, data: { serverId: id } });
  });
  await expect(attach('/api')).rejects.toMatchObject({ code: 'domain.elsewhere' });
  await purge();
  await attach('/');
  expect((await again()).slug).toBe('shop');
});

test('project, environment, server and secret group of a deleted app stay until the purge', async () => {
  const { projectId } = await get();
  world.clock.forward(1);
  const staging = await world.addEnvironment(appId, { name: 'Staging' });
  const { groupId } = await world.tenant((ctx) => createSecretGroup(ctx, { name: 'shared', projectId }));
  await world.tenant((ctx) => attachSecretGroup(ctx, { groupId, appId }));
  await world.system(async ({ tx }) => {
    await tx.server.updateMany({ where: { id: world.serverId }, data: { isLocal: false } });
    const { organizationId } = world;
    const later = new Date(world.clock.now().getTime() + 1000);
    const data = { id: newId('prj'), organizationId, name: 'Heir', slug: 'heir', createdAt: later };
    await tx.project.create({ data });
  });
  await remove();
  const refused: Record<string, () => Promise<unknown>> = {
    'environment.in_use': () =>
      world.tenant((ctx) => deleteEnvironment(ctx, { environmentId: staging, confirmName: 'Staging' })),
    'server.in_use': () => world.tenant((ctx) => deleteServer(ctx, { serverId: world.serverId, confirmName: 'local' })),
    'secret.group_in_use': () => world.tenant((ctx) => deleteSecretGroup(ctx, { groupId })),
    'project.not_empty': () => world.tenant((ctx) => deleteProject(ctx, { projectId, confirmName: 'Default' })),
  };
  for (const [code, call] of Object.entries(refused)) await expect(call(), code).rejects.toMatchObject({ code });
  // Two dialogs name the app, which no list of theirs shows.
  for (const code of ['server.in_use', 'project.not_empty']) {
    await expect(refused[code]?.(), code).rejects.toMatchObject({ details: { deletedApps: ['Shop'] } });
  }
  expect(await world.tenant((ctx) => getProject(ctx, { projectId }))).toMatchObject({
    apps: [],
    deletedApps: ['Shop'],
  });
  await purge();
  for (const call of Object.values(refused)) await call();
});

test('an environment that a deleted app has left can be deleted with the history there', async () => {
  world.clock.forward(1);
  const staging = await world.addEnvironment(appId, { name: 'Staging' });
  const { deploymentId } = await world.tenant((ctx) => createDeployment(ctx, { appId, environmentId: staging }));
  await world.advance(deploymentId);
  await world.finish(deploymentId);
  await world.system(({ tx }) => tx.placementServer.deleteMany({ where: { placement: { environmentId: staging } } }));
  await remove();
  await world.tenant((ctx) => deleteEnvironment(ctx, { environmentId: staging, confirmName: 'Staging' }));
  await restore();
  expect((await get()).placements).toHaveLength(1);
});

test('the purge comes after seven days, frees the servers, and leaves the volumes to their own deletion', async () => {
  await deploy();
  const { organizationId } = world;
  await world.system(({ tx }) =>
    tx.volume.create({
      data: { id: newId('vol'), organizationId, appId, environmentId, name: 'data', label: 'Shop · Production' },
    }),
  );
  const digest = `sha256:${'a'.repeat(64)}`;
  await world.system((ctx) =>
    recordArtifact(forOrganization(ctx, organizationId), { digest, kind: 'build', sizeBytes: 9 }),
  );
  await remove();
  const volumes = async () => (await world.tenant((ctx) => listVolumes(ctx, {}))).items.map(({ isLeft }) => isLeft);
  expect(await volumes()).toEqual([]);
  const due = async () => (await world.system(findDueApps)).filter((each) => each.organizationId === organizationId);
  world.clock.forward(retention.deletedAppMs - 1);
  expect(await due()).toEqual([]);
  expect(await world.tenant((ctx) => purgeDueApp(ctx, { appId }))).toBeNull();
  // All that time the store kept the artifact.
  expect(await world.system(pruneArtifacts)).toEqual([]);
  world.clock.forward(1);
  expect(await due()).toEqual([{ organizationId, appId }]);
  expect(await world.tenant((ctx) => purgeDueApp(ctx, { appId }))).toMatchObject({ id: appId });
  expect(await due()).toEqual([]);
  expect(await world.tenant((ctx) => purgeDueApp(ctx, { appId }))).toBeNull();
  await expect(restore()).rejects.toMatchObject({ code: 'app.not_deleted' });
  const rows = await world.tenant((ctx) =>
    withDeletedApps(ctx, async () => [
      await ctx.tx.app.count(),
      await ctx.tx.deployment.count(),
      await ctx.tx.domain.count(),
    ]),
  );
  expect(rows).toEqual([0, 0, 0]);
  expect(await world.desired()).toMatchObject({ keptArtifacts: [], routes: [] });
  expect(await volumes()).toEqual([true]);
});

test('an app that is restored and deleted again waits the whole time again', async () => {
  await remove();
  world.clock.forward(retention.deletedAppMs);
  await restore();
  expect(await world.tenant((ctx) => purgeDueApp(ctx, { appId }))).toBeNull();
  await remove();
  expect(await world.tenant((ctx) => purgeDueApp(ctx, { appId }))).toBeNull();
});

test('nobody is reminded of secrets of a deleted app', async () => {
  const expiresAt = new Date(world.clock.now().getTime() + 1000);
  const items = [{ name: 'A', value: 'x', expiresAt }];
  await world.tenant((ctx) => updateSecrets(ctx, { owner: { appId }, items }, world.keys));
  await remove();
  const reminded = async () =>
    (await world.system(recordSecretReminders)).filter((each) => each.organizationId === world.organizationId);
  expect(await reminded()).toEqual([]);
  await restore();
  expect(await reminded()).toHaveLength(1);
});

test('an app can be rolled back after its restore', async () => {
  await deploy();
  const first = (await get()).liveRelease?.id;
  if (first === undefined) throw new Error('a live release was expected');
  await deploy();
  await remove();
  await restore();
  const { deploymentId } = await world.tenant((ctx) => rollbackApp(ctx, { appId, releaseId: first }));
  await world.advance(deploymentId);
  await world.finish(deploymentId);
  expect(await get()).toMatchObject({ liveRelease: { id: first } });
});
