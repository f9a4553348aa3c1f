// Tests of what host checks change about orders: CAA records in the way, and aliases of proofs by DNS.
import { capabilities } from '@fairlead/contract/capabilities';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createDnsProvider } from '../dns-provider/index.ts';
import { attachDomain } from '../domain/index.ts';
import { type Findings, recordHostCheck } from '../host/index.ts';
import { type TestWorld, testHosts, testWorld } from '../testing/index.ts';
import { findProofPlace } from './host-facts.ts';
import { hastenOrder, planOrders } from './index.ts';

const directoryUrl = 'https://authority.example.test/directory';
const nothing = { addresses: [], aliases: [], challengeAlias: null, caa: null, ports: [], failure: null };

let db: TestDatabase;
let world: TestWorld;
let appId: Awaited<ReturnType<TestWorld['createApp']>>['appId'];
beforeEach(async () => {
  db = await testDatabase();
  world = await testWorld(db.database);
  ({ appId } = await world.createApp('Shop', { deployNow: false }));
  const seen = { lastSeenAt: world.clock.now(), connectedGateway: 'test-gateway' };
  await world.system(({ tx }) =>
    tx.server.updateMany({ data: { capabilities: Object.keys(capabilities), enteredAddresses: ['8.8.4.4'], ...seen } }),
  );
});
afterEach(() => db.drop());

const attach = (host: string) => world.tenant((ctx) => attachDomain(ctx, { appId, host, pathPrefix: '/' }, testHosts));
const plan = () => world.tenant((ctx) => planOrders(ctx, world.keys, { directoryUrl }));
const row = (host: string) => world.system(({ tx }) => tx.certificate.findFirstOrThrow({ where: { host } }));
const check = (host: string, findings: Partial<Findings>) =>
  world.system((ctx) =>
    recordHostCheck(ctx, {
      organizationId: world.organizationId,
      host,
      findings: { ...nothing, ...findings },
      texts: [],
    }),
  );
const orders = () => world.system(({ tx }) => tx.acmeOrder.count());

test('nothing is ordered while CAA records are in the way, and the reason is shown', async () => {
  const host = 'shop.example.test';
  await attach(host);
  const caa = { name: 'example.test', issuers: ['other.example'], allows: false };
  await check(host, { addresses: ['8.8.4.4'], caa });
  await plan();
  const held = await row(host);
  expect(held).toMatchObject({ failureCode: 'certificate.caa', orderServerId: null, attempt: 0, failures: 0 });
  expect(held.failureMessage).toContain('The CAA records of example.test allow other.example,');
  expect(await orders()).toBe(0);

  const { becameReady } = await check(host, { addresses: ['8.8.4.4'], caa: { ...caa, allows: true } });
  expect(becameReady).toBe(true);
  await world.tenant((ctx) => hastenOrder(ctx, host, 'records'));
  await plan();
  expect(await row(host)).toMatchObject({ attempt: 1, orderServerId: world.serverId });
});

test('a proof goes to the zone that its alias leads to', async () => {
  const host = '*.example.net';
  await attach(host);
  await world.tenant((ctx) =>
    createDnsProvider(
      ctx,
      { zones: ['proofs.example.test'], preferred: false, credentials: { kind: 'cloudflare', token: 'a-token' } },
      world.keys,
    ),
  );
  await plan();
  expect((await row(host)).failureCode).toBe('certificate.no_dns_provider');
  const { aliasChanged } = await check(host, { challengeAlias: 'net.proofs.example.test' });
  expect(aliasChanged).toBe(true);
  expect((await check(host, { challengeAlias: 'net.proofs.example.test' })).aliasChanged).toBe(false);
  await world.tenant((ctx) => hastenOrder(ctx, host, 'alias'));
  await plan();
  expect(await row(host)).toMatchObject({ attempt: 1, challenge: 'dns-01' });
});

test('an alias is followed to a known zone only, and never to the proof of another name', () => {
  const zone = { providerId: 'dnp_1', zone: 'example.test', preferred: false };
  const find = (name: string) => (name === 'example.test' || name.endsWith('.example.test') ? zone : null);
  const place = (host: string, challengeAlias: string | null) =>
    findProofPlace(find, host, { caa: null, challengeAlias })?.name ?? null;
  expect(place('shop.example.test', null)).toBe('_acme-challenge.shop.example.test');
  expect(place('*.example.test', null)).toBe('_acme-challenge.example.test');
  expect(place('shop.example.net', null)).toBeNull();
  expect(place('shop.example.net', 'shop-net.example.test')).toBe('shop-net.example.test');
  // The record of the own zone would stand beside an alias, which no zone allows.
  expect(place('shop.example.test', 'shop.example.org')).toBeNull();
  expect(place('shop.example.net', '_acme-challenge.example.test')).toBeNull();
});
