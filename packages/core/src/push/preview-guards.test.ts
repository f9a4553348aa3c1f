// Access rules of previews: those of the environment whose settings they run with.
import { type AppId, type EnvironmentId, newId } from '@fairlead/contract/ids';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { attachDomain, planBaseDomains, updateBaseDomain, updateDomainPolicy } from '../domain/index.ts';
import type { Ctx } from '../kernel/index.ts';
import { deletePreviewEnvironment, findEndedPreviews, updatePreviewPolicy } from '../preview/index.ts';
import { type TestWorld, testHosts, testWorld } from '../testing/index.ts';
import { policyInputSchema } from '../traffic/index.ts';
import { findNextDelivery, processDelivery, recordDeliveries } from './index.ts';
import { githubPullRequest, linkRepository, registerGithubApp, type TestPullRequest } from './testing.ts';

let db: TestDatabase;
let world: TestWorld;
let githubAppId: string;
let appId: AppId;
let source: EnvironmentId;
let count = 0;

beforeAll(async () => {
  db = await testDatabase();
});
afterAll(() => db.drop());
beforeEach(async () => {
  count += 1;
  world = await testWorld(db.database, `acme-${count}`);
  githubAppId = await registerGithubApp(world, 'secret');
  ({ appId } = await world.createApp('Shop', { deployNow: false }));
  await linkRepository(world, githubAppId, appId);
  const limits = { enabled: true, previewsMax: 10, daysMax: 14, drafts: true };
  const policy = await world.tenant((ctx) => updatePreviewPolicy(ctx, { appId, ...limits }));
  source = policy.environmentId ?? newId('env');
  await setBase('apps');
});

const base = (name: string) => `${name}-${count}.example.test`;
async function setBase(name: string): Promise<void> {
  const { serverId } = world;
  await world.tenant((ctx) => updateBaseDomain(ctx, { serverId, baseDomain: base(name) }, testHosts));
  await world.tenant(planBaseDomains);
}
const asWorker = <T>(work: (ctx: Ctx) => Promise<T>): Promise<T> =>
  world.tenant((ctx) => work({ ...ctx, actor: { kind: 'system', reason: 'test' } }));

async function receive(request: TestPullRequest = {}): Promise<void> {
  const { organizationId } = world;
  const delivery = { organizationId, source: 'github', endpointId: githubAppId, event: 'pull_request' } as const;
  const body = githubPullRequest(request);
  await world.system((ctx) => recordDeliveries(ctx, [{ ...delivery, deliveryKey: newId('evt'), body }]));
  const deliveryId = await world.tenant(findNextDelivery);
  if (deliveryId === null) throw new Error('no delivery waits');
  await asWorker((ctx) => processDelivery(ctx, { deliveryId }));
}

async function endPreview(): Promise<void> {
  await receive({ action: 'closed', open: false, at: 20 });
  for (const task of await world.system(findEndedPreviews))
    await asWorker((ctx) => deletePreviewEnvironment(ctx, task));
}

const domains = (label: string) =>
  world.tenant(({ tx }) =>
    tx.domain.findMany({ where: { appId, host: { startsWith: `${label}.` } }, orderBy: { pathPrefix: 'asc' } }),
  );
const tlsOf = (host: string) => world.tenant(({ tx }) => tx.hostPolicy.findFirst({ where: { host } }));
const policyOf = async (pathPrefix = '/') =>
  (await domains('shop-pr-7')).find((domain) => domain.pathPrefix === pathPrefix)?.policy;
async function guard(domainId: string, policy: object): Promise<void> {
  await world.tenant((ctx) =>
    updateDomainPolicy(ctx, { domainId: domainId as never, policy: policyInputSchema.parse(policy) }),
  );
}
const setTls = (host: string) =>
  world.system(({ tx }) =>
    tx.hostPolicy.create({ data: { organizationId: world.organizationId, host, policy: { minTlsVersion: '1.3' } } }),
  );
const attach = (environmentId: EnvironmentId, host: string, pathPrefix: string, owner = appId) =>
  world.tenant((ctx) => attachDomain(ctx, { appId: owner, environmentId, host, pathPrefix }, testHosts));

const password = { basicAuth: { users: [{ name: 'ada', password: 'correct horse battery' }] } };
const withPassword = { basicAuth: { users: [{ name: 'ada' }] } };
const noindex = { name: 'x-robots-tag', value: 'noindex' };

test('a preview has the guards of the environment whose settings it uses, also on paths, and follows them', async () => {
  const [name] = await domains('shop-previews');
  if (name === undefined) throw new Error('the environment of previews has no name');
  await guard(name.id, { ...password, allow: ['203.0.113.0/24'], redirect: null });
  await guard((await attach(source, name.host, '/admin')).id, { deny: ['198.51.100.0/24'] });
  await setTls(name.host);
  await receive();
  const { host = '' } = (await domains('shop-pr-7'))[0] ?? {};
  expect(await policyOf()).toMatchObject({ ...withPassword, allow: ['203.0.113.0/24'], responseHeaders: [noindex] });
  expect(await policyOf('/admin')).toMatchObject({ deny: ['198.51.100.0/24'], responseHeaders: [noindex] });
  expect((await tlsOf(host))?.policy).toMatchObject({ minTlsVersion: '1.3' });

  await guard(name.id, { deny: ['192.0.2.1'] });
  await world.tenant(({ tx }) => tx.hostPolicy.deleteMany({ where: { host: name.host } }));
  await receive({ action: 'synchronize', head: 2, at: 5 });
  expect(await policyOf()).toMatchObject({ basicAuth: null, deny: ['192.0.2.1'], responseHeaders: [noindex] });
  expect(await tlsOf(host)).toBeNull();
});

test('an app and its previews keep their guards under another base domain', async () => {
  const [name] = await domains('shop-previews');
  await guard(name?.id ?? '', password);
  await guard((await attach(source, name?.host ?? '', '/admin')).id, { deny: ['198.51.100.0/24'] });
  await setTls(name?.host ?? '');
  await receive();
  await setBase('other');
  for (const label of ['shop-previews', 'shop-pr-7']) {
    const host = `${label}.${base('other')}`;
    expect(await domains(label)).toMatchObject([
      { host, pathPrefix: '/', policy: withPassword },
      { host, pathPrefix: '/admin', policy: { deny: ['198.51.100.0/24'] } },
    ]);
    expect((await tlsOf(host))?.policy).toMatchObject({ minTlsVersion: '1.3' });
  }
  expect(await tlsOf(name?.host ?? '')).toBeNull();
});

test('a preview takes the guards of another name if the automatic one is a redirect', async () => {
  const host = `staging-${count}.example.test`;
  const [name] = await domains('shop-previews');
  await guard((await attach(source, host, '/')).id, password);
  await guard(name?.id ?? '', { redirect: { to: `https://${host}` } });
  await receive();
  expect(await policyOf()).toMatchObject({ ...withPassword, redirect: null });
});

test('the guards of a preview are changed where it takes them from', async () => {
  await receive();
  const [name] = await domains('shop-pr-7');
  expect(name?.policy).toMatchObject({ basicAuth: null, responseHeaders: [noindex] });
  await expect(guard(name?.id ?? '', {})).rejects.toMatchObject({ code: 'preview.inherited' });
});

test('the end of a preview keeps the TLS settings of a host that others use', async () => {
  const blog = await world.createApp('Blog', { deployNow: false });
  await receive();
  const [own] = await domains('shop-pr-7');
  const shared = `shared-${count}.example.test`;
  await world.tenant((ctx) => attachDomain(ctx, { appId: blog.appId, host: shared, pathPrefix: '/' }, testHosts));
  await attach(own?.environmentId as EnvironmentId, shared, '/shop');
  await setTls(shared);
  await setTls(own?.host ?? '');
  await endPreview();
  expect(await domains('shop-pr-7')).toEqual([]);
  expect(await tlsOf(own?.host ?? '')).toBeNull();
  expect(await tlsOf(shared)).not.toBeNull();
});
