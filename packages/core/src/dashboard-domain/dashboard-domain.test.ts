// Tests of the dashboard's domains: who may have one, what the local server gets, and when links lead there.
import { capabilities } from '@fairlead/contract/capabilities';
import type { DashboardDomainId } from '@fairlead/contract/ids';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { generateIdentity, identityToRecipient } from 'age-encryption';
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { listCertificates, planOrders } from '../certificate/index.ts';
import type { OperatorCtx } from '../control-plane/index.ts';
import { attachDomain, planBaseDomains } from '../domain/index.ts';
import { claimDueHosts, pruneHosts, recordHostCheck } from '../host/index.ts';
import { auditEventsOf, silentLog, type TestWorld, testHosts, testWorld } from '../testing/index.ts';
import {
  addDashboardDomain,
  deleteDashboardDomain,
  listDashboardDomains,
  listExpectedAnswers,
  recordAnswer,
  verifyDashboardDomain,
  watchAddresses,
} from './index.ts';
import type { DashboardFacts } from './rules.ts';

const host = 'panel.example.test';
const directoryUrl = 'https://authority.example.test/directory';
const facts: DashboardFacts = { reach: 'served', settingsUrl: 'https://203.0.113.5', httpsPort: 443 };

let recipient: string;
beforeAll(async () => {
  recipient = await identityToRecipient(await generateIdentity());
});

let db: TestDatabase;
let world: TestWorld;
let userId: string;
beforeEach(async () => {
  db = await testDatabase();
  world = await testWorld(db.database);
  userId = await world.system(async ({ tx }) => {
    const data = {
      sealingRecipient: recipient,
      capabilities: Object.keys(capabilities),
      enteredAddresses: ['203.0.113.5'],
    };
    await tx.server.update({ where: { id: world.serverId }, data });
    return (await tx.member.findFirstOrThrow({ where: { organizationId: world.organizationId } })).userId;
  });
});
afterEach(() => db.drop());

const operate = <T>(run: (ctx: OperatorCtx) => Promise<T>): Promise<T> =>
  world.system((ctx) =>
    run({
      ...ctx,
      organizationId: world.organizationId,
      actor: { kind: 'member', userId, role: 'owner' },
      ip: null,
    }),
  );
const add = (name = host, changes: Partial<DashboardFacts> = {}) =>
  operate((ctx) =>
    addDashboardDomain(ctx, { host: name }, { ...facts, controlHost: 'fairlead.localhost', ...changes }),
  );
const remove = (dashboardDomainId: DashboardDomainId) =>
  operate((ctx) => deleteDashboardDomain(ctx, { dashboardDomainId }));
const list = () => operate((ctx) => listDashboardDomains(ctx, facts, directoryUrl));
const plan = () => world.tenant((ctx) => planOrders(ctx, world.keys, { directoryUrl }));
const findings = (addresses: string[]) => ({
  addresses,
  aliases: [],
  challengeAlias: null,
  caa: null,
  ports: [],
  failure: null,
});
const check = (addresses: string[], name = host) =>
  world.system((ctx) =>
    recordHostCheck(ctx, {
      organizationId: world.organizationId,
      host: name,
      findings: findings(addresses),
      texts: null,
    }),
  );
const answer = (name = host) =>
  world.system((ctx) => recordAnswer(ctx, { organizationId: world.organizationId, host: name }));

test('the local server serves the domain, and a certificate is ordered for it', async () => {
  await add();
  expect(await world.system(claimDueHosts)).toMatchObject([{ host }]);
  // Without an address, an order would only fail.
  await plan();
  expect((await world.desired()).certificates[0]?.hosts).toEqual([host]);
  expect((await world.desired()).certificates[0]?.order).toBeUndefined();
  await check(['203.0.113.5']);
  await plan();
  const { routes, certificates } = await world.desired();
  expect(routes.map(({ host: name, pathPrefix }) => `${name}${pathPrefix}`)).toEqual([`${host}/`, `${host}/agent`]);
  expect(certificates[0]).toMatchObject({ hosts: [host], order: { attempt: 1 } });
  expect((await world.tenant((ctx) => listCertificates(ctx, { limit: 10 }))).items).toMatchObject([
    { host, servers: [{ name: 'local' }], domains: [] },
  ]);
  // No app has it, and its check stays nevertheless.
  await world.system(pruneHosts);
  expect((await list()).items).toMatchObject([
    {
      host,
      url: `https://${host}`,
      isCurrent: false,
      dns: { state: 'ready', records: [{ type: 'A', name: 'panel', value: '203.0.113.5' }] },
      certificate: { kind: 'public', certificate: { state: 'ordering' } },
    },
  ]);
});

test('links lead to the domain once it has answered, and back to the settings without it', async () => {
  const watched = await watchAddresses(db.database, facts, silentLog);
  const { dashboardDomainId } = await add();
  expect(watched.publicUrl).toBe('https://203.0.113.5');
  await answer();
  await expect.poll(() => watched.publicUrl).toBe(`https://${host}`);
  expect(watched.domainOrigins).toEqual([`https://${host}`]);
  expect(await list()).toMatchObject({ publicUrl: `https://${host}`, settingsUrl: 'https://203.0.113.5' });
  await add('other.example.test');
  world.clock.forward(1000);
  await answer('other.example.test');
  await expect.poll(() => watched.domainOrigins).toEqual(['https://other.example.test', `https://${host}`]);
  await remove((await list()).items.find((each) => each.isCurrent)?.id ?? dashboardDomainId);
  await expect.poll(() => watched.publicUrl).toBe(`https://${host}`);
  await remove(dashboardDomainId);
  await expect.poll(() => watched.publicUrl).toBe('https://203.0.113.5');
  await watched.close();
  const behindProxy = await watchAddresses(db.database, { ...facts, reach: 'reverse_proxy' }, silentLog);
  expect(behindProxy.domainOrigins).toEqual([]);
  await behindProxy.close();
  const actions = (await auditEventsOf(world)).map(({ action }) => action);
  expect(actions.filter((action) => action.startsWith('control_plane.'))).toEqual([
    'control_plane.add_domain',
    'control_plane.complete_domain',
    'control_plane.add_domain',
    'control_plane.complete_domain',
    'control_plane.delete_domain',
    'control_plane.delete_domain',
  ]);
});

test('an answer is expected once records and certificate are right, and only until it came', async () => {
  await add();
  await check(['203.0.113.5']);
  await plan();
  const expected = () => world.system(listExpectedAnswers);
  expect(await expected()).toEqual([]);
  const chain = [new Uint8Array([1])];
  await world.system(async ({ tx }) => {
    const row = await tx.certificate.findFirstOrThrow({ where: { host } });
    const notAfter = new Date(world.clock.now().getTime() + 3_600_000);
    await tx.certificate.update({ where: { id: row.id }, data: { chain, keyId: row.orderKeyId, notAfter } });
  });
  expect(await expected()).toMatchObject([{ host, leaf: chain[0] }]);
  await check(['198.51.100.1']);
  expect(await expected()).toEqual([]);
  await check(['203.0.113.5']);
  await answer();
  expect(await expected()).toEqual([]);
});

test('a domain that something else has is refused, and no app takes one of the dashboard', async () => {
  await world.createApp('Shop', { host: 'shop.example.test', deployNow: false });
  const { appId } = await world.createApp('Other', { deployNow: false });
  await expect(add('shop.example.test')).rejects.toMatchObject({ code: 'control_plane.domain_in_use' });
  await expect(add('panel.fairlead.localhost')).rejects.toMatchObject({ code: 'domain.not_public' });
  for (const reach of ['local', 'reverse_proxy'] as const)
    await expect(add(host, { reach })).rejects.toMatchObject({ code: 'control_plane.domain_unavailable' });
  await add();
  await expect(add()).rejects.toMatchObject({ code: 'control_plane.domain_in_use' });
  const attach = (ctx: Parameters<typeof attachDomain>[0]) =>
    attachDomain(ctx, { appId, host, pathPrefix: '/' }, testHosts);
  await expect(world.tenant(attach)).rejects.toMatchObject({ code: 'domain.reserved' });
  for (const name of ['a', 'b', 'c', 'd']) await add(`${name}.example.test`);
  await expect(add('e.example.test')).rejects.toMatchObject({ code: 'control_plane.domain_too_many' });
});

test('no app gets a removed domain before the sessions of its visitors end, but the dashboard does', async () => {
  const { appId } = await world.createApp('Shop', { deployNow: false });
  const attach = (name: string) =>
    world.tenant((ctx) => attachDomain(ctx, { appId, host: name, pathPrefix: '/' }, testHosts));
  const { dashboardDomainId } = await add();
  await answer();
  await remove(dashboardDomainId);
  await expect(attach(host)).rejects.toMatchObject({ code: 'domain.was_dashboard' });
  // Its claim stays, so that no other organization serves it meanwhile.
  await world.system(pruneHosts);
  expect(await world.system(({ tx }) => tx.domainHost.count({ where: { host } }))).toBe(1);
  const again = await add();
  await remove(again.dashboardDomainId);
  world.clock.forward(29 * 24 * 3_600_000);
  await expect(attach(host)).rejects.toMatchObject({ code: 'domain.was_dashboard' });
  world.clock.forward(24 * 3_600_000 + 1);
  await world.system(pruneHosts);
  expect(await world.system(({ tx }) => tx.domainHost.count({ where: { host } }))).toBe(0);
  await attach(host);
  // A domain that never answered had no sign-ins.
  const unused = await add('unused.example.test');
  await remove(unused.dashboardDomainId);
  await attach('unused.example.test');
});

test('a name below a base domain is none that the dashboard has or had', async () => {
  await world.createApp('Shop', { deployNow: false });
  await world.system(({ tx }) =>
    tx.server.update({ where: { id: world.serverId }, data: { baseDomain: 'example.test' } }),
  );
  const planName = async () => {
    await world.tenant((ctx) => planBaseDomains(ctx));
    const { host: name } = await world.system(({ tx }) => tx.domain.findFirstOrThrow({ where: { automatic: true } }));
    await world.system(({ tx }) => tx.domain.deleteMany());
    return name;
  };
  const name = await planName();
  const { dashboardDomainId } = await add(name);
  expect(await planName()).not.toBe(name);
  await answer(name);
  await remove(dashboardDomainId);
  expect(await planName()).not.toBe(name);
});

test('the name of another organization is refused', async () => {
  const rival = await testWorld(db.database, 'rival');
  await rival.system(({ tx, clock }) =>
    tx.hostProof.create({
      data: {
        id: 'prf_rival',
        organizationId: rival.organizationId,
        host: 'example.test',
        token: 'token',
        provenAt: clock.now(),
      },
    }),
  );
  await expect(add()).rejects.toMatchObject({ code: 'control_plane.domain_in_use' });
});

test('a removed domain loses its route, its check and its certificate', async () => {
  const { dashboardDomainId } = await add();
  await plan();
  await remove(dashboardDomainId);
  await plan();
  await world.system(pruneHosts);
  expect((await world.desired()).routes).toEqual([]);
  const left = await world.system(async ({ tx }) => [await tx.certificate.count(), await tx.domainHost.count()]);
  expect(left).toEqual([0, 0]);
  await expect(operate((ctx) => verifyDashboardDomain(ctx, { dashboardDomainId }))).rejects.toMatchObject({
    code: 'control_plane.domain_not_found',
  });
});
