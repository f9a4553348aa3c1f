// Tests the move of an app to another project: the data that moves with it, and everything that blocks the move.
import { fromBinary } from '@bufbuild/protobuf';
import { SecretBundleSchema } from '@fairlead/contract/agent';
import { type AppId, type EnvironmentId, newId, type ProjectId, parseId } from '@fairlead/contract/ids';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { Decrypter, generateIdentity, identityToRecipient } from 'age-encryption';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { benchmarkPlanSchema, createBenchmark } from '../benchmark/index.ts';
import { getConfig } from '../config/index.ts';
import { createDeployment, listDeployments } from '../deployment/index.ts';
import { attachDomain, listDomains } from '../domain/index.ts';
import { createEnvironment, listEnvironments, updateEnvironment } from '../environment/index.ts';
import { createProject, deleteProject, listProjects } from '../project/index.ts';
import { listReleases } from '../release/index.ts';
import { ownerRights, permissionsOf, rightsOf } from '../role/index.ts';
import {
  attachSecretGroup,
  createSecretGroup,
  deleteSecretGroup,
  detachSecretGroup,
  listSecrets,
  updateSecrets,
} from '../secret/index.ts';
import { auditEventsOf, type TestWorld, testWorld, untilBlocked } from '../testing/index.ts';
import { detachEnvironment, getApp, getAppMove, moveApp, updateConfig } from './index.ts';

let db: TestDatabase;
let world: TestWorld;
let appId: AppId;
/** The first project. */
let source: { projectId: ProjectId; production: EnvironmentId; staging: EnvironmentId };
let target: { projectId: ProjectId; production: EnvironmentId; staging: EnvironmentId };
let identity: string;
let sealingRecipient: string;
let count = 0;
const links = { localHttpsPort: 443, localHttpPort: 80, controlHost: '', publicHost: '' };
const host = () => `shop-${count}.example.test`;

beforeAll(async () => {
  db = await testDatabase();
  identity = await generateIdentity();
  sealingRecipient = await identityToRecipient(identity);
});
afterAll(() => db.drop());
beforeEach(async () => {
  count += 1;
  world = await testWorld(db.database, `acme-${count}`);
  ({ appId } = await world.createApp('Shop', { host: host(), deployNow: false }));
  await world.system(({ tx }) => tx.server.updateMany({ data: { sealingRecipient } }));
  world.clock.forward(1);
  const [first] = (await world.tenant((ctx) => listProjects(ctx))).items;
  if (first === undefined) throw new Error('a project was expected');
  source = await withStaging(first.id);
  target = await withStaging((await world.tenant((ctx) => createProject(ctx, { name: 'Store' }))).projectId);
});

async function withStaging(projectId: ProjectId) {
  const { environmentId } = await world.tenant((ctx) =>
    createEnvironment(ctx, { projectId, name: 'Staging', protected: false }),
  );
  const items = (await world.tenant((ctx) => listEnvironments(ctx))).items.filter(
    (each) => each.projectId === projectId,
  );
  const first = items.find(({ id }) => id !== environmentId);
  if (first === undefined) throw new Error('an environment was expected');
  return { projectId, production: first.id, staging: environmentId };
}

const pair = (name: 'production' | 'staging') => ({ from: source[name], to: target[name] });
const move = (environments = [pair('production')], by = ownerRights, projectId = target.projectId) =>
  world.tenant((ctx) => moveApp(ctx, { appId, projectId, environments }, by));
const get = (environmentId?: EnvironmentId) =>
  world.tenant((ctx) => getApp(ctx, { slug: 'shop', environmentId }, links));

async function goLive(environmentId: EnvironmentId): Promise<void> {
  const { deploymentId } = await world.tenant((ctx) => createDeployment(ctx, { appId, environmentId }));
  await world.advance(deploymentId);
  await world.finish(deploymentId);
}

async function open(sealed: Uint8Array) {
  const decrypter = new Decrypter();
  decrypter.addIdentity(identity);
  return fromBinary(SecretBundleSchema, await decrypter.decrypt(sealed));
}

async function placeIn(environmentId: EnvironmentId): Promise<void> {
  world.clock.forward(1);
  await world.addEnvironment(appId, { environmentId });
}

test('an app moves with its domains, settings, secrets, releases and history', async () => {
  const owner = { appId, environmentId: source.production };
  await world.tenant((ctx) => updateConfig(ctx, { ...owner, settings: { releasesKept: 7 } }));
  await goLive(source.production);
  const run = await world.tenant((ctx) => createBenchmark(ctx, { ...owner, plan: benchmarkPlanSchema.parse({}) }));
  expect(await move()).toEqual({ id: appId, slug: 'shop' });
  expect(await get()).toMatchObject({
    projectId: target.projectId,
    projectName: 'Store',
    environmentId: target.production,
    isPrimary: true,
    hosts: [host()],
    liveRelease: { number: 1 },
    lastDeployment: { number: 1, state: 'live' },
    placements: [{ environmentId: target.production }],
  });
  const there = { appId, environmentId: target.production };
  expect((await world.tenant((ctx) => getConfig(ctx, there))).settings.releasesKept).toBe(7);
  expect((await world.tenant((ctx) => listReleases(ctx, { ...there, limit: 10 }))).items).toHaveLength(1);
  expect((await world.tenant((ctx) => listDeployments(ctx, { ...there, limit: 10 }))).items).toHaveLength(1);
  expect((await world.tenant((ctx) => listDomains(ctx, { limit: 10 }, links))).items).toMatchObject([
    { host: host(), projectId: target.projectId, environmentId: target.production },
  ]);
  const measured = await world.system(({ tx }) => tx.benchmarkRun.findFirstOrThrow({ where: { id: run.runId } }));
  expect(measured).toMatchObject({ state: 'cancelled', environmentId: target.production });
  expect((await auditEventsOf(world)).at(-1)).toMatchObject({
    action: 'app.move',
    targetLabel: 'Shop',
    before: { projectId: source.projectId, environments: ['Production'] },
    after: { projectId: target.projectId, environments: ['Production'] },
  });
});

test('servers run a moved app under its new environment, with secrets that they can open', async () => {
  const owner = { appId, environmentId: source.production };
  await world.tenant((ctx) => updateSecrets(ctx, { owner, items: [{ name: 'A', value: 'x' }] }, world.keys));
  await goLive(source.production);
  const before = await world.desired();
  await move();
  const there = { appId, environmentId: target.production };
  expect((await world.tenant((ctx) => listSecrets(ctx, there))).secrets.map(({ name }) => name)).toEqual(['A']);
  const after = await world.desired();
  expect(after.version?.number).toBeGreaterThan(before.version?.number ?? 0n);
  expect(after.apps).toMatchObject([{ environmentId: target.production, live: { number: 1n } }]);
  expect(after.routes).toMatchObject([{ host: host(), target: { value: { environmentId: target.production } } }]);
  // An agent refuses secrets that were sealed for another environment.
  const opened = await open(after.apps[0]?.live?.secrets?.sealed ?? new Uint8Array());
  expect(opened).toMatchObject({ ...there, secrets: [{ name: 'A' }] });
});

test('a moved app leaves no rows behind: its former project can be deleted, and the app deploys', async () => {
  await goLive(source.production);
  await move();
  await world.tenant((ctx) => deleteProject(ctx, { projectId: source.projectId, confirmName: 'Default' }));
  expect((await get()).liveRelease?.number).toBe(1);
  await goLive(target.production);
});

test('a move maps every environment of the app, also one that it has left, each to a different one', async () => {
  await placeIn(source.staging);
  const owner = { appId, environmentId: source.staging };
  await world.tenant((ctx) => updateSecrets(ctx, { owner, items: [{ name: 'A', value: 'x' }] }, world.keys));
  await world.tenant((ctx) => detachEnvironment(ctx, { ...owner, confirmName: 'Shop' }));
  expect((await world.tenant((ctx) => getAppMove(ctx, { appId }))).environments).toEqual([
    { environmentId: source.production, environmentName: 'Production', runs: true },
    { environmentId: source.staging, environmentName: 'Staging', runs: false },
  ]);
  const both = { from: source.staging, to: target.production };
  for (const environments of [
    [pair('production')],
    [pair('production'), both],
    [pair('production'), pair('production')],
  ]) {
    await expect(move(environments)).rejects.toMatchObject({ code: 'app.move_incomplete' });
  }
  const foreign = [pair('production'), { from: source.staging, to: source.staging }];
  await expect(move(foreign)).rejects.toMatchObject({ code: 'environment.not_found' });
  await expect(move([pair('production')], ownerRights, source.projectId)).rejects.toMatchObject({
    code: 'app.in_project',
  });
  await expect(move([pair('production')], ownerRights, parseId('prj', newId('prj')))).rejects.toMatchObject({
    code: 'project.not_found',
  });

  await move([pair('production'), pair('staging')]);
  await placeIn(target.staging);
  const { secrets } = await world.tenant((ctx) => listSecrets(ctx, { appId, environmentId: target.staging }));
  expect(secrets.map(({ name }) => name)).toEqual(['A']);
});

test('a queued or running deployment blocks a move', async () => {
  const { deploymentId } = await world.tenant((ctx) => createDeployment(ctx, { appId }));
  await expect(move()).rejects.toMatchObject({ code: 'app.move_under_way' });
  await world.advance(deploymentId);
  await expect(move()).rejects.toMatchObject({ code: 'app.move_under_way' });
  await world.finish(deploymentId);
  await move();
});

test('a move locks all runs of the app before it gives a server a new state', async () => {
  await placeIn(source.staging);
  await goLive(source.production);
  const plan = benchmarkPlanSchema.parse({});
  const start = () => world.tenant((ctx) => createBenchmark(ctx, { appId, environmentId: source.production, plan }));
  const [first, second] = [await start(), await start()];
  await world.system(({ tx }) =>
    tx.benchmarkRun.updateMany({ where: { id: second.runId }, data: { environmentId: source.staging } }),
  );
  let moved: Promise<unknown> | undefined;
  await world.system(async ({ tx }) => {
    await tx.$queryRaw`SELECT id FROM benchmark_run WHERE id = ${second.runId} FOR UPDATE`;
    moved = move([pair('production'), pair('staging')]);
    await untilBlocked(tx);
    const free = tx.$queryRaw`SELECT id FROM server WHERE id = ${world.serverId} FOR UPDATE NOWAIT`;
    await expect(free).resolves.toHaveLength(1);
  });
  await moved;
  const where = { id: { in: [first.runId, second.runId] } };
  const runs = await world.system(({ tx }) => tx.benchmarkRun.findMany({ where, select: { state: true } }));
  expect(runs).toEqual([{ state: 'cancelled' }, { state: 'cancelled' }]);
});

test('an attached secret group blocks a move; existing releases keep its values', async () => {
  const { projectId } = source;
  const { groupId } = await world.tenant((ctx) => createSecretGroup(ctx, { name: 'shared', projectId }));
  const items = [{ name: 'TOKEN', value: 'x' }];
  await world.tenant((ctx) => updateSecrets(ctx, { owner: { groupId }, items }, world.keys));
  await world.tenant((ctx) => attachSecretGroup(ctx, { groupId, appId }));
  await goLive(source.production);
  await expect(move()).rejects.toMatchObject({ code: 'app.move_groups', details: { groups: ['shared'] } });
  await world.tenant((ctx) => detachSecretGroup(ctx, { groupId, appId }));
  await move();
  await expect(world.tenant((ctx) => attachSecretGroup(ctx, { groupId, appId }))).rejects.toMatchObject({
    code: 'secret.group_not_found',
  });
  // The group and its project can be deleted: the live release keeps its secrets.
  await world.tenant((ctx) => deleteSecretGroup(ctx, { groupId }));
  await world.tenant((ctx) => deleteProject(ctx, { projectId, confirmName: 'Default' }));
  const [app] = (await world.desired()).apps;
  expect(app?.live?.secrets).toBeDefined();
  const entries = await world.system(({ tx }) => tx.secretSnapshotEntry.findMany({ where: { scope: 'shared' } }));
  expect(entries).toHaveLength(1);
});

test('a volume blocks a move, in the settings or on a server', async () => {
  const owner = { appId, environmentId: source.production };
  const volumes = [{ name: 'data', path: '/data', snapshots: 'off' as const }];
  await world.tenant((ctx) => updateConfig(ctx, { ...owner, settings: { volumes } }));
  await expect(move()).rejects.toMatchObject({ code: 'app.move_volumes', details: { volumes: ['data'] } });
  await world.tenant((ctx) => updateConfig(ctx, { ...owner, settings: { volumes: [] } }));
  const { organizationId } = world;
  await world.system(({ tx }) =>
    tx.volume.create({ data: { id: newId('vol'), organizationId, ...owner, name: 'old', label: 'Shop · Production' } }),
  );
  await expect(move()).rejects.toMatchObject({ code: 'app.move_volumes', details: { volumes: ['old'] } });
});

test('a host that another app also uses blocks a move', async () => {
  const desk = await world.createApp('Desk');
  await world.tenant((ctx) => attachDomain(ctx, { appId: desk.appId, host: host(), pathPrefix: '/desk' }, links));
  await expect(move()).rejects.toMatchObject({ code: 'app.move_hosts', details: { hosts: [host()] } });
  expect((await world.tenant((ctx) => getAppMove(ctx, { appId }))).sharedHosts).toEqual([host()]);
});

test('a move never lets a host lead to a protected and an unprotected environment', async () => {
  await placeIn(source.staging);
  const route = { appId, environmentId: source.staging, host: host(), pathPrefix: '/next' };
  await world.tenant((ctx) => attachDomain(ctx, route, links));
  await world.tenant((ctx) => updateEnvironment(ctx, { environmentId: target.production, protected: true }));
  const both = [pair('production'), pair('staging')];
  await expect(move(both)).rejects.toMatchObject({ code: 'domain.protection_differs' });
  await world.tenant((ctx) => updateEnvironment(ctx, { environmentId: target.staging, protected: true }));
  await move(both);
});

test('a move gives its author no new permission on the app', async () => {
  const everything = permissionsOf('admin');
  const heldIn = (projectId: string, environmentId: string | null = null) => ({
    projectId,
    environmentId,
    permissions: everything,
  });
  const developing = { projectId: source.projectId, environmentId: null, permissions: permissionsOf('developer') };
  for (const held of [
    [developing, heldIn(target.projectId)],
    [developing, heldIn(target.projectId, target.production)],
  ]) {
    await expect(move([pair('production')], rightsOf('viewer', held))).rejects.toMatchObject({
      code: 'app.move_beyond_own',
    });
  }
  await move([pair('production')], rightsOf('viewer', [heldIn(source.projectId), heldIn(target.projectId)]));
});

test('a foreign app or project counts as unknown', async () => {
  const other = await testWorld(db.database, `other-${count}`);
  const [foreign] = (await other.tenant((ctx) => listProjects(ctx))).items;
  if (foreign === undefined) throw new Error('a project was expected');
  await expect(move([pair('production')], ownerRights, foreign.id)).rejects.toMatchObject({
    code: 'project.not_found',
  });
  const environments = [pair('production')];
  await expect(
    other.tenant((ctx) => moveApp(ctx, { appId, projectId: foreign.id, environments }, ownerRights)),
  ).rejects.toMatchObject({ code: 'app.not_found' });
});
