import { AcmeChallengeKind } from '@fairlead/contract/agent';
import { capabilities } from '@fairlead/contract/capabilities';
import type { DomainId } from '@fairlead/contract/ids';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { generateIdentity, identityToRecipient } from 'age-encryption';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createDnsProvider, deleteDnsProvider } from '../dns-provider/index.ts';
import { planBaseDomains, updateBaseDomain } from '../domain/index.ts';
import { type TestWorld, testHosts, testWorld } from '../testing/index.ts';
import { getCertificate, listCertificates, planOrders } from './index.ts';

const wildcard = '*.apps.example.test';
const directoryUrl = 'https://authority.example.test/directory';
const dayMs = 24 * 3_600_000;

let db: TestDatabase;
let world: TestWorld;
beforeEach(async () => {
  db = await testDatabase();
  world = await testWorld(db.database);
  const sealingRecipient = await identityToRecipient(await generateIdentity());
  const data = { sealingRecipient, capabilities: Object.keys(capabilities) };
  await world.system(({ tx }) => tx.server.update({ where: { id: world.serverId }, data }));
  const { appId } = await world.createApp('Shop', { deployNow: false });
  await world.addEnvironment(appId, { name: 'Staging' });
  const input = { serverId: world.serverId, baseDomain: 'apps.example.test' };
  await world.tenant((ctx) => updateBaseDomain(ctx, input, testHosts));
  await world.tenant(planBaseDomains);
});
afterEach(() => db.drop());

const plan = () => world.tenant((ctx) => planOrders(ctx, world.keys, { directoryUrl }));
const addProvider = () =>
  world.tenant((ctx) =>
    createDnsProvider(
      ctx,
      { zones: ['example.test'], preferred: false, credentials: { kind: 'cloudflare', token: 'a-token' } },
      world.keys,
    ),
  );
const hosts = async () => {
  const rows = await world.tenant(({ tx }) => tx.certificate.findMany({ orderBy: { host: 'asc' } }));
  return rows.map(({ host }) => host);
};
const ordered = async () => {
  const rows = await world.tenant(({ tx }) =>
    tx.certificate.findMany({ where: { orderServerId: world.serverId }, orderBy: { host: 'asc' } }),
  );
  return rows.map(({ host, challenge }) => `${host} ${challenge}`);
};
const update = (data: object) =>
  world.system(({ tx }) => tx.certificate.updateMany({ where: { host: wildcard }, data }));
const noOrder = { orderServerId: null, orderKeyId: null, orderedAt: null };
const keyOfOrder = async () =>
  (await world.tenant(({ tx }) => tx.certificate.findFirstOrThrow({ where: { host: wildcard } }))).orderKeyId;
/** As after a success. */
async function issueWildcard(days: number, keyId: string | null): Promise<void> {
  const notAfter = new Date(world.clock.now().getTime() + days * dayMs);
  await update({
    ...noOrder,
    keyId,
    chain: [new Uint8Array([1])],
    notBefore: world.clock.now(),
    notAfter,
    failedAt: null,
  });
}

test('with a DNS provider one wildcard serves all names, and its page says so', async () => {
  await addProvider();
  await plan();
  expect(await ordered()).toEqual([`${wildcard} dns-01`]);
  expect((await world.desired()).certificates[0]).toMatchObject({
    hosts: [wildcard],
    order: { challenge: AcmeChallengeKind.DNS_01 },
  });
  await issueWildcard(90, await keyOfOrder());
  const { items } = await world.tenant((ctx) => listCertificates(ctx, { limit: 10 }));
  expect(items).toMatchObject([{ host: wildcard, state: 'issued', domains: [{}, {}], servers: [{ name: 'local' }] }]);
  const { id } = await world.tenant(({ tx }) => tx.domain.findFirstOrThrow());
  const shown = await world.tenant((ctx) =>
    getCertificate(ctx, { domainId: id as DomainId }, { acmeDirectoryUrl: directoryUrl }),
  );
  expect(shown).toMatchObject({ kind: 'public', certificate: { host: wildcard } });
});

test('without a DNS provider each name has its own, which goes once a wildcard is issued', async () => {
  const names = ['shop-production.apps.example.test', 'shop-staging.apps.example.test'];
  await plan();
  expect(await ordered()).toEqual(names.map((name) => `${name} http-01`));
  await addProvider();
  await plan();
  expect(await hosts()).toEqual([wildcard, ...names]);
  expect(await ordered()).toEqual([`${wildcard} dns-01`]);
  await issueWildcard(90, await keyOfOrder());
  await plan();
  expect(await hosts()).toEqual([wildcard]);
});

test('a wildcard that fails lets each name order its own, in time before it expires', async () => {
  const provider = await addProvider();
  await plan();
  const keyId = await keyOfOrder();
  await update({ ...noOrder, failedAt: world.clock.now(), nextAttemptAt: new Date('2100-01-01') });
  await plan();
  expect(await ordered()).toHaveLength(2);
  await issueWildcard(90, keyId);
  await plan();
  expect(await hosts()).toEqual([wildcard]);
  await world.tenant((ctx) => deleteDnsProvider(ctx, { dnsProviderId: provider.id }));
  await plan();
  expect(await hosts()).toEqual([wildcard]);
  world.clock.forward(88 * dayMs);
  await update({ renewAt: world.clock.now(), nextAttemptAt: null });
  const lastSeenAt = world.clock.now();
  await world.system(({ tx }) => tx.server.update({ where: { id: world.serverId }, data: { lastSeenAt } }));
  // Its renewal fails without a provider.
  await plan();
  expect(await hosts()).toEqual([wildcard]);
  await plan();
  expect(await hosts()).toHaveLength(3);
});
