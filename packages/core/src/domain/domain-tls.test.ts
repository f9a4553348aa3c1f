// Tests for the TLS settings of a host: one row for all paths, sent with each route, and removed with the last path.
import type { RouteSpec } from '@fairlead/contract/agent';
import { capabilities } from '@fairlead/contract/capabilities';
import type { AppId, DomainId } from '@fairlead/contract/ids';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { prepareDesiredState } from '../desired-state/index.ts';
import { createSecretSealer } from '../secret/index.ts';
import { auditEventsOf, makeChain, type TestWorld, testHosts, testUrl, testWorld } from '../testing/index.ts';
import { hostPolicyInputSchema } from '../traffic/index.ts';
import { attachDomain, detachDomain, getDomainTls, updateDomainTls } from './index.ts';

const authority = makeChain({ names: ['visitor.example.test'] });
const preload = { maxAgeSeconds: 31_536_000, includeSubdomains: true, preload: true };

let db: TestDatabase;
let world: TestWorld;
let appId: AppId;
let domainId: DomainId;
let count = 0;

beforeAll(async () => {
  db = await testDatabase();
});
afterAll(() => db.drop());
beforeEach(async () => {
  count += 1;
  world = await testWorld(db.database, `tls-${count}`);
  await setCapabilities(Object.keys(capabilities));
  const deployed = await world.createApp('Shop', { host: `shop-${count}.example.test`, deployNow: true });
  appId = deployed.appId;
  await world.advance(deployed.deploymentId ?? '');
  await world.finish(deployed.deploymentId ?? '');
  ({ id: domainId } = await attach('/api'));
});

const setCapabilities = (reported: string[]) =>
  world.system(({ tx }) => tx.server.update({ where: { id: world.serverId }, data: { capabilities: reported } }));
const host = () => `shop-${count}.example.test`;
const attach = (pathPrefix: string) =>
  world.tenant((ctx) => attachDomain(ctx, { appId, host: host(), pathPrefix }, testHosts));
const update = (changes: object) =>
  world.tenant((ctx) => updateDomainTls(ctx, { domainId, ...hostPolicyInputSchema.parse(changes) }));

async function routes(): Promise<RouteSpec[]> {
  const sealer = createSecretSealer(world.keys);
  const state = await prepareDesiredState(world.system, { serverId: world.serverId, sealer, urlOf: testUrl });
  return (state as unknown as { routes: RouteSpec[] }).routes.filter((route) => route.host === host());
}

test('settings hold for every path of the host, also one that is attached later, and sections keep each other', async () => {
  expect(await world.tenant((ctx) => getDomainTls(ctx, { domainId }))).toMatchObject({
    minTlsVersion: '1.2',
    hsts: null,
    clientAuth: null,
  });
  await update({ minTlsVersion: '1.3' });
  await update({ hsts: preload });
  await update({ clientAuth: { mode: 'required', caPem: authority.rootPem } });
  await attach('/later');
  const found = await routes();
  expect(found.map(({ pathPrefix }) => pathPrefix).sort()).toEqual(['/', '/api', '/later']);
  for (const { policy } of found) {
    expect(policy).toMatchObject({
      hsts: preload,
      tls: { tls13Only: true, clientAuth: { required: true, caPem: authority.rootPem.trim() } },
    });
  }
  const view = await world.tenant((ctx) => getDomainTls(ctx, { domainId }));
  expect(view.authorities).toMatchObject([{ subject: 'O=Test, CN=root' }]);
  await update({ minTlsVersion: '1.2', hsts: null, clientAuth: null });
  expect((await routes()).map(({ policy }) => policy)).toEqual([undefined, undefined, undefined]);
});

test('each change is an audit event with the fingerprints of authorities', async () => {
  await update({ clientAuth: { mode: 'optional', caPem: `${authority.rootPem}\n${authority.intermediatePem}` } });
  const event = (await auditEventsOf(world)).find(({ action }) => action === 'domain.update_tls');
  expect(JSON.stringify(event)).toMatch(/optional (?:[0-9A-F]{2}:){31}[0-9A-F]{2} /);
});

test.each([
  ['nothing', 'nothing'],
  ['a leaf', authority.leafPem],
  ['a key', `${authority.rootPem}\n${authority.keyPem}`],
  ['a broken block', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----'],
  ['too many', authority.rootPem.repeat(21)],
])('%s is no list of authorities', async (_, caPem) => {
  await expect(update({ clientAuth: { mode: 'required', caPem } })).rejects.toMatchObject({
    code: 'domain.authorities_invalid',
  });
});

test('an expired authority is refused when it is saved', async () => {
  world.clock.forward(11 * 365 * 86_400_000);
  const changes = { clientAuth: { mode: 'required', caPem: authority.rootPem } };
  await expect(update(changes)).rejects.toMatchObject({ code: 'domain.authorities_invalid' });
});

test('preload needs subdomains and a year', () => {
  const parse = (hsts: object) => hostPolicyInputSchema.safeParse({ hsts }).success;
  expect(parse(preload)).toBe(true);
  expect(parse({ ...preload, includeSubdomains: false })).toBe(false);
  expect(parse({ ...preload, maxAgeSeconds: 31_535_999 })).toBe(false);
});

test('a server whose agent would let visitors pass is named', async () => {
  await setCapabilities(Object.keys(capabilities).filter((name) => name !== 'traffic.tls'));
  const changes = { clientAuth: { mode: 'required', caPem: authority.rootPem } };
  await expect(update(changes)).rejects.toMatchObject({
    code: 'domain.capability_missing',
    details: { capability: 'traffic.tls' },
  });
});

test('the settings go with the last path of the host', async () => {
  await update({ minTlsVersion: '1.3' });
  const ids = await world.system(({ tx }) => tx.domain.findMany({ where: { host: host() }, select: { id: true } }));
  const rows = () => world.system(({ tx }) => tx.hostPolicy.count({ where: { host: host() } }));
  for (const { id } of ids) {
    expect(await rows()).toBe(1);
    await world.tenant((ctx) => detachDomain(ctx, { domainId: id as DomainId }));
  }
  expect(await rows()).toBe(0);
});
