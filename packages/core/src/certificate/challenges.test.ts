// Tests of challenges beyond HTTP-01: proofs, TXT records, the choice of a challenge, accounts, budgets and directories.
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import {
  AcmeChallengeKind,
  type CertificateSpec,
  type CertificateStatusSchema,
  type DesiredState,
  ReportSchema,
  WorkState,
} from '@fairlead/contract/agent';
import { capabilities } from '@fairlead/contract/capabilities';
import { newId, type ServerId } from '@fairlead/contract/ids';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { generateIdentity, identityToRecipient } from 'age-encryption';
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { prepareDesiredState } from '../desired-state/index.ts';
import { createDnsProvider, type DnsClient, deleteDnsProvider } from '../dns-provider/index.ts';
import { attachDomain } from '../domain/index.ts';
import { recordReport } from '../link/index.ts';
import { createSecretSealer } from '../secret/index.ts';
import { auditOf, type TestWorld, testHosts, testUrl, testWorld } from '../testing/index.ts';
import {
  advanceDnsRecord,
  claimDnsRecords,
  listCertificates,
  listDownDirectories,
  planOrders,
  recordDirectory,
} from './index.ts';
import { chooseChallenge } from './rules.ts';

const directoryUrl = 'https://authority.example.test/directory';
const value = 'x'.repeat(43);
const cloudflare = { kind: 'cloudflare' as const, token: 'a-token-that-nobody-sees' };

let recipient: string;
beforeAll(async () => {
  recipient = await identityToRecipient(await generateIdentity());
});

let db: TestDatabase;
let world: TestWorld;
let appId: Awaited<ReturnType<TestWorld['createApp']>>['appId'];
beforeEach(async () => {
  db = await testDatabase();
  world = await testWorld(db.database);
  await equip(world.serverId);
  ({ appId } = await world.createApp('Shop', { deployNow: false }));
});
afterEach(() => db.drop());

async function equip(serverId: string): Promise<void> {
  await world.system(({ tx }) =>
    tx.server.update({
      where: { id: serverId },
      data: {
        sealingRecipient: recipient,
        capabilities: Object.keys(capabilities),
        lastSeenAt: world.clock.now(),
        connectedGateway: 'test-gateway',
      },
    }),
  );
}

/** Adds another server of the app. */
async function addServer(): Promise<ServerId> {
  const id = newId('srv');
  await world.system(async ({ tx }) => {
    const { placementId } = await tx.placementServer.findFirstOrThrow({ where: { serverId: world.serverId } });
    const { organizationId } = world;
    await tx.server.create({ data: { id, organizationId, name: 'other', publicKey: new Uint8Array(32) } });
    await tx.placementServer.create({ data: { placementId, organizationId, serverId: id, position: 1 } });
  });
  await equip(id);
  return id;
}

const attach = (host: string) => world.tenant((ctx) => attachDomain(ctx, { appId, host, pathPrefix: '/' }, testHosts));
const plan = (config: { directoryUrl?: string; bindsAccounts?: boolean } = {}) =>
  world.tenant((ctx) => planOrders(ctx, world.keys, { directoryUrl, ...config }));
const provider = (zones = ['example.test'], preferred = false) =>
  world.tenant((ctx) => createDnsProvider(ctx, { zones, preferred, credentials: cloudflare }, world.keys));
const sealer = () => createSecretSealer(world.keys);
const stateOf = (serverId: ServerId) =>
  prepareDesiredState(world.system, { serverId, sealer: sealer(), urlOf: testUrl }) as unknown as Promise<DesiredState>;
async function specOf(host: string, serverId: ServerId = world.serverId): Promise<CertificateSpec | undefined> {
  return (await stateOf(serverId)).certificates.find(({ hosts }) => hosts.includes(host));
}
const viewOf = async (host: string) =>
  (await world.tenant((ctx) => listCertificates(ctx, { limit: 10 }))).items.find((one) => one.host === host);
const rowOf = (host: string) => world.system(({ tx }) => tx.certificate.findFirstOrThrow({ where: { host } }));
const records = () => world.system(({ tx }) => tx.dnsRecord.findMany({ orderBy: { value: 'asc' } }));

async function report(
  host: string,
  status: Omit<MessageInitShape<typeof CertificateStatusSchema>, '$typeName'>,
  serverId: ServerId = world.serverId,
): Promise<void> {
  const { id: certificateId, attempt } = await rowOf(host);
  const { version } = await stateOf(serverId);
  await world.system((ctx) =>
    recordReport(ctx, {
      serverId,
      report: create(ReportSchema, {
        ...(version === undefined ? {} : { applied: version }),
        certificates: [{ certificateId, attempt, ...status }],
      }),
    }),
  );
}

const fail = (host: string, code: string, retryAfterUnixMs = 0n) =>
  report(host, { state: WorkState.FAILED, failure: { code, message: 'It failed.' }, retryAfterUnixMs });

/** DNS that shows what it was sent, and can fail. */
function fakeDns() {
  const zone = new Set<string>();
  const dns = {
    failure: null as Awaited<ReturnType<DnsClient['change']>>,
    isShown: () => Promise.resolve(dns.shows),
    shows: true,
    change: (credentials: object, action: string, record: { name: string; value: string }) => {
      expect(credentials).toEqual(cloudflare);
      if (dns.failure !== null) return Promise.resolve(dns.failure);
      const line = `${record.name} ${record.value}`;
      if (action === 'put') zone.add(line);
      else zone.delete(line);
      return Promise.resolve(null);
    },
  };
  /** Takes all steps that are due. */
  const work = async () => {
    for (let round = 0; round < 5; round += 1) {
      const claimed = await world.system((ctx) => claimDnsRecords(ctx));
      for (const record of claimed) {
        await advanceDnsRecord(record, { keys: world.keys, dns, tenant: (_, run) => world.tenant(run) });
      }
    }
  };
  return { zone, dns, work };
}

test('the challenge is the one that can prove the host, and gives way to another that can be reached', () => {
  const facts = { host: 'a.test', zone: null, canProve: true, last: 'http-01', failureCode: null } as const;
  const unreachable = 'certificate.unreachable';
  expect(chooseChallenge(facts)).toBe('http-01');
  expect(chooseChallenge({ ...facts, failureCode: unreachable })).toBe('tls-alpn-01');
  expect(chooseChallenge({ ...facts, failureCode: 'certificate.dns' })).toBe('http-01');
  expect(chooseChallenge({ ...facts, last: 'tls-alpn-01' })).toBe('tls-alpn-01');
  expect(chooseChallenge({ ...facts, last: 'tls-alpn-01', failureCode: unreachable })).toBe('http-01');
  const zone = { preferred: false };
  expect(chooseChallenge({ ...facts, zone, last: 'tls-alpn-01', failureCode: unreachable })).toBe('dns-01');
  expect(chooseChallenge({ ...facts, zone, last: 'dns-01', failureCode: null })).toBe('dns-01');
  expect(chooseChallenge({ ...facts, last: 'dns-01' })).toBe('http-01');
  expect(chooseChallenge({ ...facts, zone: { preferred: true } })).toBe('dns-01');
  expect(chooseChallenge({ ...facts, canProve: false, failureCode: unreachable })).toBe('http-01');
  expect(chooseChallenge({ ...facts, host: '*.a.test' })).toBeNull();
  expect(chooseChallenge({ ...facts, host: '*.a.test', zone })).toBe('dns-01');
});

test('a wildcard is proven by a record that is set, shown, and removed once the order has ended', async () => {
  const host = '*.apps.example.test';
  await attach(host);
  await plan();
  expect(await viewOf(host)).toMatchObject({ failure: { code: 'certificate.no_dns_provider' } });
  await provider();
  await plan();
  const ordered = await specOf(host);
  expect(ordered).toMatchObject({ hosts: [host], challengeThumbprint: '', tlsAlpnProofs: [] });
  expect(ordered?.order).toMatchObject({ challenge: AcmeChallengeKind.DNS_01, proofsInPlace: [] });

  const { zone, dns, work } = fakeDns();
  dns.shows = false;
  const proofs = [{ host: 'apps.example.test', value }];
  await report(host, { state: WorkState.RUNNING, step: 'validate', proofs });
  await report(host, { state: WorkState.RUNNING, step: 'validate', proofs });
  await work();
  expect([...zone]).toEqual([`_acme-challenge.apps.example.test ${value}`]);
  expect((await specOf(host))?.order?.proofsInPlace).toEqual([]);
  dns.shows = true;
  world.clock.forward(5000);
  await work();
  expect((await specOf(host))?.order?.proofsInPlace).toMatchObject(proofs);

  await fail(host, 'certificate.refused');
  await work();
  expect([[...zone], await records()]).toEqual([[], []]);
});

test('an agent names proofs of its own host only, and not without end', async () => {
  const host = '*.apps.example.test';
  await provider();
  await attach(host);
  await plan();
  const name = 'apps.example.test';
  const numbered = (index: number) => ({ host: name, value: String(index).padStart(43, 'x') });
  const tell = (proofs: { host: string; value: string }[]) =>
    report(host, { state: WorkState.RUNNING, step: 'validate', proofs });
  const foreign = ['example.test', 'other.example.test', '*.apps.example.test', ''];
  const malformed = ['short', '"'.repeat(43)];
  await tell([
    ...foreign.map((each) => ({ host: each, value })),
    ...malformed.map((each) => ({ host: name, value: each })),
  ]);
  expect(await records()).toEqual([]);
  await tell(Array.from({ length: 10 }, (_, index) => numbered(index)));
  await tell([numbered(10)]);
  expect(await records()).toHaveLength(10);
});

test('a worker that dies in the middle of a step leaves nothing behind, nor does a provider that fails for a while', async () => {
  const host = '*.apps.example.test';
  await provider();
  await attach(host);
  await plan();
  await report(host, { state: WorkState.RUNNING, step: 'validate', proofs: [{ host: 'apps.example.test', value }] });
  const { zone, dns, work } = fakeDns();
  // Claimed, set in the zone, and never settled.
  const [claimed] = await world.system((ctx) => claimDnsRecords(ctx));
  if (claimed === undefined) throw new Error('no record is claimed');
  zone.add(`${claimed.name} ${claimed.value}`);
  await fail(host, 'certificate.timeout');
  await work();
  expect([...zone]).toHaveLength(1);
  world.clock.forward(3 * 60_000);
  dns.failure = { code: 'unreachable', message: 'Cloudflare can’t be reached.' };
  await work();
  expect(await records()).toMatchObject([{ state: 'remove', failures: 1 }]);
  dns.failure = null;
  world.clock.forward(60_000);
  await work();
  expect([[...zone], await records()]).toEqual([[], []]);
});

test('a provider that refuses a record ends the order with its words, and other credentials let it go on at once', async () => {
  const host = '*.apps.example.test';
  const { id } = await provider();
  await attach(host);
  await plan();
  await report(host, { state: WorkState.RUNNING, step: 'validate', proofs: [{ host: 'apps.example.test', value }] });
  const { dns, work } = fakeDns();
  await expect(world.tenant((ctx) => deleteDnsProvider(ctx, { dnsProviderId: id }))).rejects.toMatchObject({
    code: 'dns_provider.in_use',
  });
  dns.failure = { code: 'refused', message: 'Cloudflare refused the credentials.' };
  await work();
  expect(await viewOf(host)).toMatchObject({
    failure: { code: 'certificate.dns_provider', message: 'Cloudflare refused the credentials.' },
  });
  await world.tenant((ctx) => deleteDnsProvider(ctx, { dnsProviderId: id }));
  await provider();
  expect(await rowOf(host)).toMatchObject({ nextAttemptAt: null });
  const stored = await world.system(({ tx }) => tx.dnsProvider.findMany());
  expect(Buffer.from(stored[0]?.envelope ?? []).toString('latin1')).not.toContain(cloudflare.token);
});

test('a host whose port 80 is closed is proven by its handshake, on every server', async () => {
  const host = 'shop.example.test';
  const other = await addServer();
  await attach(host);
  await plan();
  await report(host, { state: WorkState.RUNNING, step: 'account' }, other);
  await fail(host, 'certificate.unreachable');
  await plan();
  expect((await specOf(host))?.order).toMatchObject({ challenge: AcmeChallengeKind.TLS_ALPN_01, proofsInPlace: [] });
  const proofs = [{ host, value }];
  await report(host, { state: WorkState.RUNNING, step: 'validate', proofs });
  for (const serverId of [world.serverId, other]) {
    expect(await specOf(host, serverId)).toMatchObject({ tlsAlpnProofs: proofs, challengeThumbprint: '' });
  }
  // The first server has applied it, the other one has not.
  await report(host, { state: WorkState.RUNNING, step: 'validate', proofs });
  expect((await specOf(host))?.order?.proofsInPlace).toEqual([]);
  await report(host, { state: WorkState.RUNNING, step: 'validate' }, other);
  expect((await specOf(host))?.order?.proofsInPlace).toMatchObject(proofs);
});

test('orders within a budget are placed, and one beyond it waits for the time of the next', async () => {
  const host = 'shop.example.test';
  await attach(host);
  await plan();
  for (let failures = 1; failures <= 5; failures += 1) {
    await fail(host, 'certificate.wrong_answer');
    await world.system(({ tx }) => tx.certificate.updateMany({ where: { host }, data: { nextAttemptAt: null } }));
    world.clock.forward(60_000);
    await equip(world.serverId);
    await plan();
  }
  const held = await viewOf(host);
  expect(held).toMatchObject({ failure: { code: 'certificate.rate_limited' } });
  expect(held?.failure?.message).toContain('5 failed validations of this name in an hour');
  expect((await rowOf(host)).orderServerId).toBeNull();
  world.clock.forward(61 * 60_000);
  await equip(world.serverId);
  await plan();
  expect((await rowOf(host)).orderServerId).toBe(world.serverId);
});

test('a limit that the authority names holds for all hosts of the registered domain, and for no other', async () => {
  for (const host of ['a.shop.co.uk', 'b.shop.co.uk', 'other.co.uk']) await attach(host);
  await world.system(({ tx }) => tx.domain.updateMany({ data: {} }));
  await plan();
  const until = world.clock.now().getTime() + 3_600_000;
  await fail('a.shop.co.uk', 'certificate.rate_limited', BigInt(until));
  expect((await viewOf('a.shop.co.uk'))?.failure?.message).toMatch(
    /The next order is at \d{4}-\d\d-\d\d \d\d:\d\d UTC\.$/,
  );
  for (const host of ['b.shop.co.uk', 'other.co.uk']) await fail(host, 'certificate.timeout');
  world.clock.forward(5 * 60_000);
  await equip(world.serverId);
  await plan();
  expect(await viewOf('b.shop.co.uk')).toMatchObject({ failure: { code: 'certificate.rate_limited' } });
  expect((await rowOf('other.co.uk')).orderServerId).toBe(world.serverId);
});

test('an account that its authority refuses gets a new key once, with an audit event', async () => {
  const host = 'shop.example.test';
  await attach(host);
  await plan();
  const before = (await specOf(host))?.challengeThumbprint;
  await fail(host, 'certificate.account_revoked');
  world.clock.forward(1000);
  await plan();
  const after = await specOf(host);
  expect(after?.order).toMatchObject({ attempt: 2 });
  expect(after?.challengeThumbprint).not.toBe(before);
  expect(await auditOf(world)).toContain('certificate.replace_account');
  // An agent that reports the same again causes no further accounts.
  await fail(host, 'certificate.account_revoked');
  world.clock.forward(10 * 60_000);
  await equip(world.serverId);
  await plan();
  expect((await specOf(host))?.challengeThumbprint).toBe(after?.challengeThumbprint);
});

test('another directory takes over at the next order, with an account of its own', async () => {
  const host = 'shop.example.test';
  await attach(host);
  await plan();
  const { accountId } = await rowOf(host);
  await fail(host, 'certificate.timeout');
  world.clock.forward(5 * 60_000);
  await equip(world.serverId);
  await plan({ directoryUrl: 'https://other.example.test/directory' });
  expect((await rowOf(host)).accountId).not.toBe(accountId);
});

test('an authority that binds accounts gets no order before the account is registered', async () => {
  const host = 'shop.example.test';
  await attach(host);
  await plan({ bindsAccounts: true });
  expect((await rowOf(host)).orderServerId).toBeNull();
  await world.system(({ tx }) => tx.acmeAccount.updateMany({ data: { registeredAt: world.clock.now() } }));
  await plan({ bindsAccounts: true });
  expect((await rowOf(host)).orderServerId).toBe(world.serverId);
});

test('orders wait for an authority that is down, and go on as soon as it is back', async () => {
  const host = 'shop.example.test';
  await attach(host);
  await plan();
  expect(await world.system((ctx) => listDownDirectories(ctx))).toEqual([]);
  await fail(host, 'certificate.authority_unreachable');
  expect(await world.system((ctx) => listDownDirectories(ctx))).toEqual([directoryUrl]);
  const probe = (isUp: boolean) => world.system((ctx) => recordDirectory(ctx, { directoryUrl, isUp }));
  // The control plane reaches it: the server has the fault, so its own pause goes on.
  await probe(true);
  expect((await rowOf(host)).nextAttemptAt).not.toBeNull();
  await probe(false);
  await probe(true);
  expect((await rowOf(host)).nextAttemptAt).toBeNull();
  expect(await world.system((ctx) => listDownDirectories(ctx))).toEqual([]);
});
