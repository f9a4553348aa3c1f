import type { AppId } from '@fairlead/contract/ids';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { getHost } from '../host/index.ts';
import { auditEventsOf, type TestWorld, testHosts, testWorld } from '../testing/index.ts';
import { attachDomain, detachDomain, getBaseDomain, planBaseDomains, updateBaseDomain } from './index.ts';

let db: TestDatabase;
let world: TestWorld;
let appId: AppId;
beforeAll(async () => {
  db = await testDatabase();
  world = await testWorld(db.database);
  ({ appId } = await world.createApp('Shop', { deployNow: false }));
  await world.addEnvironment(appId, { name: 'Staging' });
});
afterAll(() => db.drop());

const set = (baseDomain: string | null, config = testHosts) =>
  world.tenant((ctx) => updateBaseDomain(ctx, { serverId: world.serverId, baseDomain }, config));
const plan = () => world.tenant(planBaseDomains);
const names = async () =>
  (await world.tenant((ctx) => getBaseDomain(ctx, { serverId: world.serverId }))).names.map(({ host }) => host);

test('each environment of an app gets a name below the base domain, once', async () => {
  await set('apps.example.com');
  expect((await auditEventsOf(world)).at(-1)).toMatchObject({ action: 'server.update_base_domain' });
  await plan();
  await plan();
  expect(await names()).toEqual(['shop-production.apps.example.com', 'shop-staging.apps.example.com']);
  const policies = await world.tenant(({ tx }) => tx.domain.findMany({ orderBy: { host: 'asc' } }));
  expect(policies.map(({ policy }) => JSON.stringify(policy).includes('noindex'))).toEqual([false, true]);
});

test('an automatic name stays until the base domain changes', async () => {
  const { id } = await world.tenant(({ tx }) => tx.domain.findFirstOrThrow({ orderBy: { host: 'asc' } }));
  const detach = world.tenant((ctx) => detachDomain(ctx, { domainId: id as never }));
  await expect(detach).rejects.toMatchObject({ code: 'domain.automatic' });
  await set('other.example.com');
  const host = 'shop-production.other.example.com';
  await world.tenant((ctx) => attachDomain(ctx, { appId, host, pathPrefix: '/' }, testHosts));
  await plan();
  const [production, staging] = await names();
  expect(production).toMatch(/^shop-production-[0-9a-f]{8}\.other\.example\.com$/);
  expect(staging).toBe('shop-staging.other.example.com');
  await set(null);
  await plan();
  expect(await world.tenant(({ tx }) => tx.domain.findMany({ select: { host: true } }))).toEqual([{ host }]);
});

test('a domain is offered an alias of the name below the base domain, once that leads to the server', async () => {
  await set('apps.example.com');
  await plan();
  const attach = (host: string) =>
    world.tenant((ctx) => attachDomain(ctx, { appId, host, pathPrefix: '/' }, testHosts));
  const [sub, apex] = [await attach('shop.example.net'), await attach('example.net')];
  const aliasOf = async ({ id }: { readonly id: never }) =>
    (await world.tenant((ctx) => getHost(ctx, { domainId: id })))?.aliasRecord;
  expect(await aliasOf(sub as never)).toBeNull();
  const target = 'shop-production.apps.example.com';
  await world.system(({ tx }) => tx.domainHost.updateMany({ where: { host: target }, data: { state: 'port_closed' } }));
  expect(await aliasOf(sub as never)).toMatchObject({ type: 'CNAME', name: 'shop', value: target });
  expect(await aliasOf(apex as never)).toBeNull();
  const own = await world.tenant(({ tx }) => tx.domain.findFirstOrThrow({ where: { host: target } }));
  expect(await aliasOf(own as never)).toBeNull();
});

test('names of the control plane are no base domain', async () => {
  const config = { ...testHosts, controlHost: 'fairlead.example.com' };
  await expect(set('fairlead.example.com', config)).rejects.toMatchObject({ code: 'domain.reserved' });
});
