// Tests of questions about renewals: what is asked, when, and how the answer moves the renewal.
import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { capabilities } from '@fairlead/contract/capabilities';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { attachDomain } from '../domain/index.ts';
import { makeChain, type TestWorld, testHosts, testWorld } from '../testing/index.ts';
import { claimRenewalInfo, planOrders, recordRenewalInfo } from './index.ts';
import { renewalIdentifier } from './renewal-identifier.ts';
import { firstRenewalTime, isClockWrong } from './rules.ts';

const host = 'shop.example.test';
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const directoryUrl = 'https://authority.example.test/directory';
const { leafPem } = makeChain({ names: [host], days: 90 });
const leaf = new X509Certificate(leafPem);

let db: TestDatabase;
let world: TestWorld;
beforeEach(async () => {
  db = await testDatabase();
  world = await testWorld(db.database);
  const { appId } = await world.createApp('Shop', { deployNow: false });
  await world.system(({ tx }) =>
    tx.server.updateMany({ data: { capabilities: Object.keys(capabilities), lastSeenAt: world.clock.now() } }),
  );
  await world.tenant((ctx) => attachDomain(ctx, { appId, host, pathPrefix: '/' }, testHosts));
  await world.tenant((ctx) => planOrders(ctx, world.keys, { directoryUrl }));
});
afterEach(() => db.drop());

const row = () => world.system(({ tx }) => tx.certificate.findFirstOrThrow({ where: { host } }));
const plan = () => world.tenant((ctx) => planOrders(ctx, world.keys, { directoryUrl }));

/** Ends the running order as its success does. */
async function issue(): Promise<Date> {
  const { id, orderKeyId } = await row();
  const { validFromDate: notBefore, validToDate: notAfter } = leaf;
  const renewAt = new Date(notBefore.getTime() + 60 * dayMs);
  const ended = { orderServerId: null, orderKeyId: null, orderedAt: null, nextAttemptAt: null };
  const issued = { chain: [new Uint8Array(leaf.raw)], keyId: orderKeyId, notBefore, notAfter, renewAt };
  await world.system(({ tx }) => tx.certificate.update({ where: { id }, data: { ...ended, ...issued } }));
  return renewAt;
}

const claim = () => world.system(claimRenewalInfo);
async function record(startMs: number, endMs: number, retryAfterMs: number | null = null): Promise<void> {
  const { id: certificateId, chain } = await row();
  const identifier = renewalIdentifier(chain[0] ?? new Uint8Array()) ?? '';
  const info = { start: new Date(startMs), end: new Date(endMs), retryAfterMs };
  await world.tenant((ctx) => recordRenewalInfo(ctx, { certificateId, identifier, info }));
}

test('the identifier is that of the example in RFC 9773', () => {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-ari-'));
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', join(folder, 'key.pem')];
  const extension = 'authorityKeyIdentifier=DER:3016801469885B6B87464041E1B37B847BA0AE2CDE01C8D4';
  const form = ['req', '-x509', ...key, '-subj', '/CN=x', '-set_serial', '0x87654321', '-addext', extension];
  const pem = execFileSync('openssl', form, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  rmSync(folder, { recursive: true });
  expect(renewalIdentifier(new X509Certificate(pem).raw)).toBe('aYhba4dGQEHhs3uEe6CuLN4ByNQ.AIdlQyE');
  expect(renewalIdentifier(Buffer.from('0603551d230405', 'hex'))).toBeNull();
});

test('an authority is asked while the renewal lies ahead, again after its pause, and by one worker', async () => {
  expect(await claim()).toEqual([]);
  const renewAt = await issue();
  const identifier = renewalIdentifier(leaf.raw);
  expect(await claim()).toMatchObject([{ directoryUrl, identifier, organizationId: world.organizationId }]);
  expect(await claim()).toEqual([]);
  const window = [renewAt.getTime() - dayMs, renewAt.getTime() + dayMs] as const;
  await record(...window, 2 * hourMs);
  expect((await row()).renewAt).toEqual(renewAt);
  world.clock.forward(2 * hourMs - 1);
  expect(await claim()).toEqual([]);
  world.clock.forward(1);
  expect(await claim()).toHaveLength(1);
  // A pause of seconds, or of weeks, is none that an authority may ask for.
  await record(...window, 0);
  world.clock.forward(60_000);
  expect(await claim()).toHaveLength(1);
  await record(...window, 30 * dayMs);
  world.clock.forward(dayMs);
  expect(await claim()).toHaveLength(1);
  world.clock.forward(70 * dayMs);
  expect(await claim()).toEqual([]);
});

test('a moved window is followed, and one that has passed renews at once', async () => {
  await issue();
  const now = world.clock.now().getTime();
  await record(now + 9 * dayMs, now + 11 * dayMs);
  expect((await row()).renewAt).toEqual(new Date(now + 10 * dayMs));
  await plan();
  expect((await row()).orderServerId).toBeNull();
  // A revoked certificate: its window lies before its own beginning.
  await record(now - 2 * dayMs, now - 2 * dayMs + 1000);
  await plan();
  expect(await row()).toMatchObject({ orderServerId: world.serverId, attempt: 2 });
  expect((await row()).keyId).not.toBeNull();
});

test('the answer about a certificate that was renewed meanwhile moves nothing', async () => {
  const renewAt = await issue();
  const { id: certificateId } = await row();
  const info = { start: new Date(0), end: new Date(1), retryAfterMs: null };
  await world.tenant((ctx) => recordRenewalInfo(ctx, { certificateId, identifier: 'another.one', info }));
  expect((await row()).renewAt).toEqual(renewAt);
});

test('a wrong clock makes no loop of renewals', () => {
  const [from, to] = [new Date(0), new Date(90 * dayMs)];
  expect(firstRenewalTime(from, to, null, from)).toEqual(new Date(60 * dayMs));
  expect(firstRenewalTime(from, to, null, new Date(75 * dayMs))).toEqual(new Date(85 * dayMs));
  expect(isClockWrong(from, to, new Date(-hourMs))).toBe(false);
  expect(isClockWrong(from, to, new Date(-hourMs - 1))).toBe(true);
  expect(isClockWrong(from, to, new Date(90 * dayMs))).toBe(true);
});
