// Tests that apps and further environments are stored completely or not at all: a refused part leaves every table unchanged.
import { type AppId, newId, parseId } from '@fairlead/contract/ids';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { readAllTables } from '@fairlead/db/testing/cluster';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { recordArtifact } from '../artifact/index.ts';
import { loadSettings } from '../config/index.ts';
import { createDeployment, getDeployment } from '../deployment/index.ts';
import { createSecretKeys } from '../secret/index.ts';
import { auditEventsOf, type TestWorld, testHosts, testWorld, testWrapper } from '../testing/index.ts';
import {
  addEnvironment,
  addEnvironmentInputSchema,
  createApp,
  createAppInputSchema,
  getApp,
  updateApp,
} from './index.ts';

let db: TestDatabase;
let world: TestWorld;
let second: string;
let taken: AppId;
let releaseId: string;
const hosts = { ...testHosts, controlHost: 'fairlead.localhost' };
const uploadDigest = `sha256:${'d'.repeat(64)}`;
const noKey = () => Promise.reject(new Error('the master key is missing'));
const noKeys = createSecretKeys({ ...testWrapper(), wrap: noKey, unwrap: noKey });

beforeAll(async () => {
  db = await testDatabase();
  world = await testWorld(db.database);
  second = await newServer('edge');
  const app = await world.createApp('Taken', { host: 'taken.example.test' });
  taken = app.appId;
  await world.advance(app.deploymentId ?? '');
  await world.finish(app.deploymentId ?? '');
  const release = await world.system(({ tx }) => tx.release.findFirstOrThrow({ where: { appId: taken } }));
  releaseId = release.id;
  world.clock.forward(1);
  await world.tenant((ctx) => recordArtifact(ctx, { digest: uploadDigest, kind: 'upload', sizeBytes: 9 }));
});
afterAll(() => db.drop());

async function newServer(name: string): Promise<string> {
  const [id, { organizationId }] = [newId('srv'), world];
  const publicKey = Buffer.from(name.padEnd(32));
  await world.system(({ tx }) => tx.server.create({ data: { id, organizationId, name, publicKey } }));
  return id;
}

/** An app with every part. */
const newApp = (changes: object = {}) => ({
  name: 'Shop',
  source: { kind: 'image', image: 'registry.example.test/shop:2' },
  credential: { kind: 'registry', host: 'registry.example.test', username: 'ada', password: 'hunter2' },
  serverIds: [world.serverId, second],
  settings: { releasesKept: 7, autoscaling: { instancesMin: 1, instancesMax: 2 } },
  secrets: [{ name: 'TOKEN', value: 'hunter2' }],
  domain: { host: 'shop.example.test', pathPrefix: '/api' },
  ...changes,
});
const create = (input: object, options: object = {}) =>
  world.tenant((ctx) => createApp(ctx, createAppInputSchema.parse(input), { hosts, keys: world.keys, ...options }));

/** An addition to an environment with every part. */
const addition = (changes: object = {}) => ({
  appId: taken,
  environment: { kind: 'new', name: 'Staging', protected: true },
  serverIds: [world.serverId, second],
  branch: 'next',
  domain: { host: 'next.example.test' },
  firstDeploy: { releaseId },
  ...changes,
});
const add = (input: object, reach?: Parameters<typeof addEnvironment>[3]) =>
  world.tenant((ctx) => addEnvironment(ctx, addEnvironmentInputSchema.parse(input), hosts, reach));

const unreached = { everywhere: false, projectIds: [], environmentIds: [] };
const git = { kind: 'git', repositoryUrl: 'https://git.example.test/shop.git' };
const unknown = { server: newId('srv'), environment: newId('env'), release: newId('rel') };

const refusedApps: Record<string, readonly [string | RegExp, () => object, object?]> = {
  'a name that is taken': ['app.name_taken', () => ({ name: 'Taken' })],
  'an unknown environment': ['environment.not_found', () => ({ environmentId: unknown.environment })],
  'an unknown server': ['server.not_found', () => ({ serverIds: [unknown.server] })],
  'an unknown further server': ['server.not_found', () => ({ serverIds: [world.serverId, unknown.server] })],
  'a build server that is unknown': ['server.not_found', () => ({ settings: { buildServerId: unknown.server } })],
  'an image that is not named': ['config.image_missing', () => ({ source: git, settings: { builder: 'image' } })],
  'a container on a socket': ['config.socket_in_container', () => ({ settings: { listen: 'socket' } })],
  'a secret without a value': ['input.invalid', () => ({ secrets: [{ name: 'EMPTY' }] })],
  'a secret that cannot be encrypted': [/master key/, () => ({ credential: undefined }), { keys: noKeys }],
  'a credential that cannot be encrypted': [/master key/, () => ({ secrets: undefined }), { keys: noKeys }],
  'a host of the control plane': ['domain.reserved', () => ({ domain: { host: 'x.fairlead.localhost' } })],
  'a host that is taken': [
    'domain.taken',
    () => ({ domain: { host: 'taken.example.test' }, serverIds: [world.serverId] }),
  ],
  'a host on other servers': ['domain.elsewhere', () => ({ domain: { host: 'taken.example.test', pathPrefix: '/x' } })],
  'a host out of reach': ['permission.denied', () => ({}), { reach: unreached }],
  'an unknown upload': ['artifact.not_found', () => ({ firstDeploy: { uploadDigest: `sha256:${'0'.repeat(64)}` } })],
  'a template that was not uploaded': [
    'deployment.no_source',
    () => ({ source: { kind: 'template', template: 'node' }, credential: undefined }),
  ],
  'a deployment without a source': [
    'deployment.no_source',
    () => ({ source: { kind: 'upload' }, credential: undefined }),
  ],
};

async function expectNothingStored(call: () => Promise<unknown>, error: string | RegExp): Promise<void> {
  const before = await readAllTables(db.url);
  const refused = expect(call()).rejects;
  await (typeof error === 'string' ? refused.toMatchObject({ code: error }) : refused.toThrow(error));
  expect(await readAllTables(db.url)).toEqual(before);
}

test.each(Object.entries(refusedApps))('no app exists after %s', async (_what, [error, changes, options]) => {
  await expectNothingStored(() => create(newApp(changes()), options), error);
});

const refusedEnvironments: Record<string, readonly [string, () => object, object?]> = {
  'an unknown app': ['app.not_found', () => ({ appId: newId('app') })],
  'a name that is taken': ['environment.name_taken', () => ({ environment: { kind: 'new', name: 'Production' } })],
  'an unknown environment': [
    'environment.not_found',
    () => ({ environment: { kind: 'existing', environmentId: unknown.environment } }),
  ],
  'an unknown server': ['server.not_found', () => ({ serverIds: [world.serverId, unknown.server] })],
  'a host of the control plane': ['domain.reserved', () => ({ domain: { host: 'x.fairlead.localhost' } })],
  'a host with another protection': ['domain.protection_differs', () => ({ domain: { host: 'taken.example.test' } })],
  'a host out of reach': ['permission.denied', () => ({}), unreached],
  'an unknown release': ['release.not_found', () => ({ firstDeploy: { releaseId: unknown.release } })],
};

test.each(Object.entries(refusedEnvironments))(
  'no environment is added after %s',
  async (_what, [error, changes, reach]) => {
    await expectNothingStored(() => add(addition(changes()), reach as never), error);
  },
);

test('addEnvironment refuses an environment where the app runs, and a release of another app', async () => {
  const { slug } = await create({ name: 'Other', source: git, serverIds: [second], firstDeploy: 'none' });
  const { id: appId, environmentId } = await world.tenant((ctx) => getApp(ctx, { slug }, hosts));
  const existing = { kind: 'existing', environmentId };
  await expectNothingStored(() => add(addition({ environment: existing })), 'placement.exists');
  await expectNothingStored(() => add(addition({ appId })), 'release.not_found');
});

/** Shows that the comparisons above see the rows of every part. */
const tablesOfApp = [
  'app',
  'placement',
  'placement_server',
  'app_config',
  'secret',
  'secret_version',
  'source_credential',
  'domain',
]
  .concat('deployment', 'deployment_step', 'audit_event')
  .map((name) => `public.${name}`);
const countRows = async () =>
  Object.fromEntries((await readAllTables(db.url)).map(({ name, rows }) => [name, rows.length] as const));

test('the same inputs store an app with every part, and each part has its audit event', async () => {
  world.clock.forward(1);
  const [before, rows] = [await auditEventsOf(world), await countRows()];
  const { id: appId, slug, deploymentId, publicKey } = await create(newApp());
  expect(publicKey).toBeNull();
  const grown = Object.entries(await countRows()).filter(([name, count]) => count > (rows[name] ?? 0));
  expect(grown.map(([name]) => name)).toEqual(expect.arrayContaining(tablesOfApp));
  const { placements, domains, image, environmentId } = await world.tenant((ctx) => getApp(ctx, { slug }, hosts));
  expect(image).toBe('registry.example.test/shop:2');
  expect(placements.map(({ servers }) => servers.map(({ serverId }) => serverId))).toEqual([[world.serverId, second]]);
  expect(domains).toMatchObject([{ host: 'shop.example.test', pathPrefix: '/api' }]);
  const { config, secrets, credentials } = await world.tenant(async ({ tx }) => ({
    config: await tx.appConfig.findFirstOrThrow({ where: { appId } }),
    secrets: await tx.secret.findMany({ where: { appId, environmentId } }),
    credentials: await tx.sourceCredential.findMany({ where: { appId } }),
  }));
  expect(await world.tenant((ctx) => loadSettings(ctx, config.id))).toMatchObject({
    builder: 'image',
    releasesKept: 7,
  });
  expect(secrets.map(({ name }) => name)).toEqual(['TOKEN']);
  expect(credentials).toMatchObject([{ kind: 'registry', host: 'registry.example.test', username: 'ada' }]);
  const deployment = await world.tenant((ctx) =>
    getDeployment(ctx, { deploymentId: parseId('dep', deploymentId ?? '') }),
  );
  expect(deployment).toMatchObject({ state: 'queued', trigger: 'manual' });
  const known = new Set(before.map(({ id }) => id));
  const events = (await auditEventsOf(world)).filter(({ id }) => !known.has(id));
  expect(events.map(({ action }) => action).sort()).toEqual([
    'app.create',
    'config.update',
    'credential.update',
    'deployment.create',
    'secret.create',
  ]);
});

test('a deploy key is created with the app, before the first deployment', async () => {
  const source = { kind: 'git', repositoryUrl: 'git@git.example.test:ada/shop.git' };
  const input = { name: 'Keyed', source, credential: { kind: 'ssh' }, serverIds: [second] };
  expect(createAppInputSchema.safeParse(input).error?.issues).toMatchObject([{ path: ['firstDeploy'] }]);
  const { publicKey, deploymentId } = await create({ ...input, firstDeploy: 'none' });
  expect(publicKey).toMatch(/^ssh-ed25519 /);
  expect(deploymentId).toBeNull();
});

test('a new app deploys an earlier upload', async () => {
  const source = { kind: 'upload', rootFolder: 'apps/shop' };
  const { deploymentId } = await create({ name: 'Sent', source, serverIds: [second], firstDeploy: { uploadDigest } });
  const row = await world.system(({ tx }) => tx.deployment.findFirstOrThrow({ where: { id: deploymentId ?? '' } }));
  expect(row).toMatchObject({ trigger: 'upload', uploadDigest });
});

test('an app is its template until it gets a source of its own', async () => {
  const source = { kind: 'template', template: 'node' };
  const input = { name: 'Started', source, serverIds: [second] };
  expect(createAppInputSchema.safeParse({ ...input, firstDeploy: 'none' }).error?.issues).toMatchObject([
    { path: ['firstDeploy'] },
  ]);
  const { id: appId, slug } = await world.tenant((ctx) =>
    createApp(
      ctx,
      { ...createAppInputSchema.parse(input), firstDeploy: { uploadDigest } },
      { hosts, keys: world.keys },
    ),
  );
  const templateOf = async () => (await world.tenant((ctx) => getApp(ctx, { slug }, hosts))).template;
  expect(await templateOf()).toBe('Node.js');
  await world.tenant((ctx) => updateApp(ctx, { appId, repositoryUrl: git.repositoryUrl }));
  expect(await templateOf()).toBeNull();
  await world.tenant((ctx) => updateApp(ctx, { appId, repositoryUrl: '' }));
  expect(await templateOf()).toBe('Node.js');
  await world.tenant((ctx) => createDeployment(ctx, { appId, uploadDigest }));
  expect(await templateOf()).toBeNull();
});

test('an image takes no other builder, and no server is listed twice', () => {
  const issuesOf = (changes: object) => createAppInputSchema.safeParse(newApp(changes)).error?.issues ?? [];
  expect(issuesOf({ settings: { builder: 'dockerfile' } })).toMatchObject([{ path: ['settings', 'builder'] }]);
  expect(issuesOf({ serverIds: [second, second] })).toMatchObject([{ path: ['serverIds'] }]);
  expect(issuesOf({ serverIds: [] })).toMatchObject([{ path: ['serverIds'] }]);
});

test('the same inputs add the app to a protected environment, where the first deployment waits for approval', async () => {
  const known = new Set((await auditEventsOf(world)).map(({ id }) => id));
  const { environmentId, deploymentId } = await add(addition());
  const { placements, domains } = await world.tenant((ctx) => getApp(ctx, { slug: 'taken', environmentId }, hosts));
  const placement = placements.find((each) => each.environmentId === environmentId);
  expect(placement).toMatchObject({ environmentName: 'Staging', protected: true, branch: 'next' });
  expect(placement?.servers.map(({ serverId }) => serverId)).toEqual([world.serverId, second]);
  expect(domains).toMatchObject([{ host: 'next.example.test' }]);
  const where = { id: deploymentId ?? '' };
  const row = await world.system(({ tx }) =>
    tx.deployment.findFirstOrThrow({ where, select: { trigger: true, environmentId: true, approval: true } }),
  );
  expect(row).toMatchObject({ trigger: 'promote', environmentId, approval: { state: 'pending' } });
  const events = (await auditEventsOf(world)).filter(({ id }) => !known.has(id));
  expect(events.map(({ action }) => action).sort()).toEqual([
    'app.add_environment',
    'deployment.promote_release',
    'domain.attach',
    'environment.create',
  ]);
});
