import { create } from '@bufbuild/protobuf';
import { InstanceState, InstanceStatusSchema, WorkState } from '@fairlead/contract/agent';
import { capabilities } from '@fairlead/contract/capabilities';
import { type AppId, newId } from '@fairlead/contract/ids';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { updateConfig } from '../app/index.ts';
import { createDeployment, rollbackApp } from '../deployment/index.ts';
import { createDnsProvider } from '../dns-provider/index.ts';
import { attachDomain, detachDomain, planBaseDomains, updateBaseDomain, updateDomainPolicy } from '../domain/index.ts';
import { drainServer } from '../placement/index.ts';
import { builtStatus, rolloutStatus, type TestWorld, testHosts, testUrl, testWorld } from '../testing/index.ts';
import { policyInputSchema } from '../traffic/index.ts';
import { deploymentHost, isDeploymentHost, listDeploymentUrls } from './index.ts';

let db: TestDatabase;
let world: TestWorld;
let appId: AppId;
beforeAll(async () => {
  db = await testDatabase();
  world = await testWorld(db.database);
  await updateServer({ capabilities: Object.keys(capabilities) });
  ({ appId } = await world.createApp('Shop', { deployNow: false }));
  const settings = {
    releasesKept: 1,
    volumes: [{ name: 'data', path: '/data' }],
    workers: [{ name: 'mail', command: ['node', 'mail.js'], instances: 1 }],
  };
  await world.tenant((ctx) => updateConfig(ctx, { appId, settings: settings as never }));
  for (let number = 1; number <= 11; number += 1) await deploy(number);
  await setBase('apps.localhost');
});
afterAll(() => db.drop());

const updateServer = (data: object) =>
  world.system(({ tx }) => tx.server.update({ where: { id: world.serverId }, data }));
const digestOf = (number: number) => `sha256:${number.toString(16).padStart(64, '0')}`;
async function deploy(number: number): Promise<void> {
  const { deploymentId } = await world.tenant((ctx) => createDeployment(ctx, { appId }));
  await world.advance(deploymentId);
  await world.report({ builds: [builtStatus(deploymentId, { digest: digestOf(number) })] });
  await world.report({ rollouts: [rolloutStatus(deploymentId, WorkState.SUCCEEDED)] });
}
async function setBase(baseDomain: string | null): Promise<void> {
  await world.tenant((ctx) => updateBaseDomain(ctx, { serverId: world.serverId, baseDomain }, testHosts));
  await world.tenant(planBaseDomains);
}
const urls = () => world.tenant((ctx) => listDeploymentUrls(ctx, { appId }, testUrl));
const hostOf = (number: number) => `shop-production--${number}.apps.localhost`;
const routeOf = (state: Awaited<ReturnType<TestWorld['desired']>>, host: string) =>
  state.routes.find((route) => route.host === host);

test('a name has the number after two dashes, is no longer than a label, and differs from all others', () => {
  expect(deploymentHost('shop-production.apps.example.com', 12)).toBe('shop-production--12.apps.example.com');
  const long = deploymentHost(`${'a'.repeat(63)}.apps.example.com`, 4711);
  const other = deploymentHost(`${'a'.repeat(62)}b.apps.example.com`, 4711);
  expect(long.split('.')[0]).toHaveLength(63);
  expect(long).not.toBe(other);
  expect([long, 'a--1.b.c', 'a--1'].map(isDeploymentHost)).toEqual([true, true, true]);
  expect(['a-1.b.c', 'xn--abc.de', 'shop.a--1.com', 'a--1x.b.c'].map(isDeploymentHost)).toEqual([
    false,
    false,
    false,
    false,
  ]);
});

test('the last ten releases have a URL, and their server runs all but the live one asleep', async () => {
  const { reason, urls: listed } = await urls();
  expect(reason).toBeNull();
  expect(listed.map(({ url }) => url)).toEqual(
    [11, 10, 9, 8, 7, 6, 5, 4, 3, 2].map((number) => `http://${hostOf(number)}:4480`),
  );
  const state = await world.desired();
  const [app, ...former] = state.apps;
  expect(app).toMatchObject({ releaseEnvironmentId: '', live: { number: 11n, volumes: [{ name: 'data' }] } });
  expect(former.map(({ live }) => live?.number)).toEqual([10n, 9n, 8n, 7n, 6n, 5n, 4n, 3n, 2n]);
  expect(new Set(former.map(({ environmentId }) => environmentId)).size).toBe(9);
  expect(former[0]).toMatchObject({
    appId,
    releaseEnvironmentId: app?.environmentId,
    instances: 1,
    autoscaling: { instancesMin: 0, instancesMax: 1 },
    live: { workers: [], volumes: [], variables: { FAIRLEAD_URL: `http://${hostOf(10)}:4480` } },
  });
  expect(former[0]?.candidate).toBeUndefined();
  expect(routeOf(state, hostOf(11))?.target.value).toMatchObject({ environmentId: app?.environmentId });
  expect(routeOf(state, hostOf(10))?.target.value).toMatchObject({ environmentId: former[0]?.environmentId });
  expect(routeOf(state, hostOf(1))).toBeUndefined();
  expect(routeOf(state, hostOf(10))?.policy?.responseHeaders).toMatchObject([
    { name: 'x-robots-tag', value: 'noindex' },
  ]);
  expect(state.keptArtifacts).toEqual([2, 3, 4, 5, 6, 7, 8, 9, 10, 11].map(digestOf).sort());
  expect(state.requires).toContain('deployment_url');
});

test('a URL has the password of the app’s own name below the base domain', async () => {
  const { id } = await world.tenant(({ tx }) => tx.domain.findFirstOrThrow({ where: { automatic: true } }));
  const update = (policy: object) =>
    world.tenant((ctx) => updateDomainPolicy(ctx, { domainId: id as never, policy: policyInputSchema.parse(policy) }));
  await update({ basicAuth: { users: [{ name: 'ada', password: 'correct horse battery' }] } });
  const state = await world.desired();
  for (const host of [hostOf(11), hostOf(2)]) {
    expect(routeOf(state, host)?.policy?.basicAuth?.users).toMatchObject([{ name: 'ada' }]);
  }
  await update({ redirect: { to: 'https://shop.example.test' } });
  expect((await urls()).reason).toBe('redirected');
  expect((await world.desired()).apps).toHaveLength(1);
  await update({});
});

test('each path of a URL is guarded like that path of the app’s own name, and no other app’s path leads to it', async () => {
  const attach = (id: AppId, host: string, pathPrefix: string) =>
    world.tenant((ctx) => attachDomain(ctx, { appId: id, host, pathPrefix }, testHosts));
  const own = 'shop-production.apps.localhost';
  const admin = await attach(appId, own, '/admin');
  const policy = policyInputSchema.parse({
    basicAuth: { users: [{ name: 'ada', password: 'correct horse battery' }] },
  });
  await world.tenant((ctx) => updateDomainPolicy(ctx, { domainId: admin.id, policy }));
  const { appId: other } = await world.createApp('Billing', { deployNow: false });
  const billing = await attach(other, own, '/billing');
  const { routes } = await world.desired();
  for (const host of [hostOf(11), hostOf(2)]) {
    const found = routes.filter((route) => route.host === host);
    expect(found.map(({ pathPrefix }) => pathPrefix)).toEqual(['/', '/admin', '/billing']);
    expect(found[0]?.policy?.basicAuth).toBeUndefined();
    expect(found[1]?.policy?.basicAuth?.users).toMatchObject([{ name: 'ada' }]);
    expect(found[1]?.target).toEqual(found[0]?.target);
    expect(found[2]?.policy).toMatchObject({ deny: ['0.0.0.0/0', '::/0'] });
  }
  for (const { id } of [admin, billing]) await world.tenant((ctx) => detachDomain(ctx, { domainId: id }));
  await world.tenant(({ tx }) => tx.app.delete({ where: { id: other } }));
});

test('an instance behind a URL is none of the app', async () => {
  const { apps } = await world.desired();
  const { environmentId = '', live } = apps[1] ?? {};
  const status = create(InstanceStatusSchema, {
    instanceId: newId('ins'),
    appId,
    environmentId,
    releaseId: live?.releaseId ?? '',
    state: InstanceState.CRASH_LOOPING,
  });
  await world.report({ instances: [status] });
  expect(await world.tenant(({ tx }) => tx.instance.count())).toBe(0);
});

test('a former release that its agent can not run is left out, and the state stays valid', async () => {
  const where = { number: 9, organizationId: world.organizationId };
  const setKind = (artifactKind: string) =>
    world.system(({ tx }) => tx.release.updateMany({ where, data: { artifactKind } }));
  await setKind('image');
  await updateServer({ capabilities: Object.keys(capabilities).filter((name) => name !== 'container') });
  const state = await world.desired();
  expect(state.requires).not.toContain('container');
  expect(state.apps.map(({ live }) => live?.number)).toEqual([11n, 10n, 8n, 7n, 6n, 5n, 4n, 3n, 2n]);
  expect(routeOf(state, hostOf(9))).toBeDefined();
  await setKind('archive');
  await updateServer({ capabilities: Object.keys(capabilities) });
});

test('nobody attaches a name of a deployment URL', async () => {
  const other = await testWorld(db.database, 'other');
  const { appId: theirs } = await other.createApp('Theirs', { deployNow: false });
  for (const [owner, id] of [
    [world, appId],
    [other, theirs],
  ] as const) {
    const attach = owner.tenant((ctx) => attachDomain(ctx, { appId: id, host: hostOf(2), pathPrefix: '/' }, testHosts));
    await expect(attach).rejects.toMatchObject({ code: 'domain.deployment_name' });
  }
});

test('a release that is rolled back to is the app again', async () => {
  const release = await world.tenant(({ tx }) => tx.release.findFirstOrThrow({ where: { number: 3 } }));
  const { deploymentId } = await world.tenant((ctx) => rollbackApp(ctx, { appId, releaseId: release.id as never }));
  await world.advance(deploymentId);
  await world.report({ rollouts: [rolloutStatus(deploymentId, WorkState.SUCCEEDED)] });
  const { apps } = await world.desired();
  expect(apps[0]?.live?.number).toBe(3n);
  expect(apps.slice(1).map(({ live }) => live?.number)).toEqual([11n, 10n, 9n, 8n, 7n, 6n, 5n, 4n, 2n]);
});

test('without a URL there is a reason, and nothing runs', async () => {
  const reasons: unknown[] = [];
  const note = async () => {
    const { reason } = await urls();
    const { apps } = await world.desired();
    reasons.push(apps.length === 1 ? reason : apps.length);
  };
  const set = (deploymentUrls: boolean) =>
    world.tenant((ctx) => updateConfig(ctx, { appId, settings: { deploymentUrls } }));
  await set(false);
  await note();
  await set(true);
  await updateServer({ capabilities: Object.keys(capabilities).filter((name) => name !== 'deployment_url') });
  await note();
  await updateServer({ capabilities: Object.keys(capabilities) });
  const before = await world.desired();
  const drain = (drained: boolean) =>
    world.tenant((ctx) => drainServer(ctx, { serverId: world.serverId, drained }, () => undefined as never));
  await drain(true);
  await note();
  await drain(false);
  expect((await world.desired()).version?.number).toBe((before.version?.number ?? 0n) + 2n);
  await setBase('apps.example.test');
  await note();
  const credentials = { kind: 'cloudflare', token: 'x'.repeat(40) } as const;
  const provider = { zones: ['example.test'], preferred: false, credentials };
  await world.tenant((ctx) => createDnsProvider(ctx, provider, world.keys));
  await note();
  await setBase(null);
  await note();
  expect(reasons).toEqual(['off', 'agent_lacks', 'drained', 'no_wildcard', 10, 'no_base_domain']);
});
