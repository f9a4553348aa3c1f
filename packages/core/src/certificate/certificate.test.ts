import { execFileSync } from 'node:child_process';
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { create, fromBinary, type MessageInitShape } from '@bufbuild/protobuf';
import {
  AcmeAccountKeySchema,
  CertificateKeySchema,
  type CertificateSpec,
  CertificateStatusSchema,
  ReportSchema,
  WorkState,
} from '@fairlead/contract/agent';
import { capabilities } from '@fairlead/contract/capabilities';
import { newId } from '@fairlead/contract/ids';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { Decrypter, generateIdentity, identityToRecipient } from 'age-encryption';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { prepareDesiredState } from '../desired-state/index.ts';
import { attachDomain, detachDomain } from '../domain/index.ts';
import { recordReport } from '../link/index.ts';
import { createSecretSealer } from '../secret/index.ts';
import { type TestWorld, testHosts, testUrl, testWorld } from '../testing/index.ts';
import { listCertificates, planOrders, retryCertificate } from './index.ts';

const host = 'shop.example.test';
const folder = mkdtempSync(join(tmpdir(), 'fairlead-certificate-'));
afterAll(() => rmSync(folder, { recursive: true }));

let db: TestDatabase;
let identity: string;
beforeAll(async () => {
  identity = await generateIdentity();
  const form = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '999'];
  const subject = ['-subj', '/O=Test/CN=Authority'];
  execFileSync('openssl', [...form, ...subject, '-keyout', join(folder, 'ca.key'), '-out', join(folder, 'ca.pem')]);
});

let world: TestWorld;
let domainId: string;
beforeEach(async () => {
  db = await testDatabase();
  world = await testWorld(db.database);
  await equip(world.serverId);
  const { appId } = await world.createApp('Shop', { deployNow: false });
  const attached = await world.tenant((ctx) => attachDomain(ctx, { appId, host, pathPrefix: '/' }, testHosts));
  domainId = attached.id;
});
afterEach(() => db.drop());

/** Gives a server a key and an agent that knows everything. */
async function equip(serverId: string): Promise<void> {
  const sealingRecipient = await identityToRecipient(identity);
  await world.system(({ tx }) =>
    tx.server.update({
      where: { id: serverId },
      data: { sealingRecipient, capabilities: Object.keys(capabilities), lastSeenAt: world.clock.now() },
    }),
  );
}

const plan = () =>
  world.tenant((ctx) => planOrders(ctx, world.keys, { directoryUrl: 'https://authority.example.test/directory' }));
const sealer = () => createSecretSealer(world.keys);
const stateOf = async (serverId: string = world.serverId) =>
  (await prepareDesiredState(world.system, { serverId, sealer: sealer(), urlOf: testUrl })) as unknown as {
    certificates: CertificateSpec[];
    acmeAccounts: { accountId: string; sealedKey: Uint8Array }[];
    version: { number: bigint };
  };
const specOf = async (serverId?: string) =>
  (await stateOf(serverId)).certificates.find(({ hosts }) => hosts.includes(host));
const found = async () => (await world.tenant((ctx) => listCertificates(ctx, { limit: 10 }))).items[0];

async function open(sealed: Uint8Array): Promise<Uint8Array> {
  const decrypter = new Decrypter();
  decrypter.addIdentity(identity);
  return decrypter.decrypt(sealed);
}

const report = (status: MessageInitShape<typeof CertificateStatusSchema>, serverId = world.serverId) =>
  world.system((ctx) =>
    recordReport(ctx, {
      serverId,
      report: create(ReportSchema, { certificates: [create(CertificateStatusSchema, status)] }),
    }),
  );

/** Issues a certificate for the key of an order, as an authority would. */
async function issue(spec: CertificateSpec | undefined, name = host, days = '90'): Promise<Uint8Array[]> {
  const sealed = spec?.order?.sealedKey ?? new Uint8Array();
  const { certificateId, keyDer } = fromBinary(CertificateKeySchema, await open(sealed));
  expect(certificateId).toBe(spec?.certificateId);
  const key = createPrivateKey({ key: Buffer.from(keyDer), type: 'pkcs8', format: 'der' });
  const file = join(folder, 'key.pem');
  writeFileSync(file, key.export({ type: 'pkcs8', format: 'pem' }));
  const files = ['-CA', join(folder, 'ca.pem'), '-CAkey', join(folder, 'ca.key')];
  const form = ['req', '-x509', '-key', file, '-days', days, '-subj', '/CN=leaf'];
  const pem = execFileSync('openssl', [...form, ...files, '-addext', `subjectAltName=DNS:${name}`], {
    encoding: 'utf8',
  });
  return [new Uint8Array(new X509Certificate(pem).raw)];
}

const succeed = async (chainDer: Uint8Array[], attempt = 1) =>
  report({ certificateId: (await specOf())?.certificateId ?? '', attempt, state: WorkState.SUCCEEDED, chainDer });

test('a public host is ordered by its server, and the issued chain replaces the order', async () => {
  expect(await specOf()).toBeUndefined();
  await plan();
  await plan();
  const ordered = await specOf();
  expect(ordered).toMatchObject({ hosts: [host], chainDer: [], order: { attempt: 1 } });
  expect(ordered?.challengeThumbprint).toMatch(/^[\w-]{43}$/);
  const [account] = (await stateOf()).acmeAccounts;
  expect(fromBinary(AcmeAccountKeySchema, await open(account?.sealedKey ?? new Uint8Array())).accountId).toBe(
    account?.accountId,
  );
  expect(await found()).toMatchObject({ state: 'ordering', failure: null });

  await report({ certificateId: ordered?.certificateId ?? '', attempt: 1, state: WorkState.RUNNING, step: 'validate' });
  expect(await found()).toMatchObject({ state: 'ordering', step: 'validate' });
  const chain = await issue(ordered);
  await succeed(chain);
  const issued = await specOf();
  expect(issued?.order).toBeUndefined();
  expect(issued).toMatchObject({ chainDer: chain, challengeThumbprint: '' });
  expect(await found()).toMatchObject({ state: 'issued', issuer: 'Test Authority', nextAttemptAt: null });
  await plan();
  expect((await specOf())?.order).toBeUndefined();
});

test('every server can answer port checks of its organization, with what no request tells', async () => {
  const [check, ...more] = (await stateOf()).certificates;
  expect(more).toEqual([]);
  const name = check?.hosts[0] ?? '';
  expect(check).toMatchObject({ chainDer: [], tlsAlpnProofs: [{ host: name, value: check?.challengeThumbprint }] });
  expect(name).toMatch(/^[0-9a-f]{32}\.fairlead-check\.invalid$/);
  const other = await testWorld(db.database, 'other');
  await world.system(({ tx }) => tx.server.updateMany({ data: { capabilities: ['certificate'] } }));
  expect((await stateOf()).certificates).toEqual([]);
  await equip(other.serverId);
  expect((await stateOf(other.serverId)).certificates[0]?.hosts).not.toEqual([name]);
});

test('a chain for another host or key is not accepted, nor one of another server or attempt', async () => {
  await plan();
  const spec = await specOf();
  const certificateId = spec?.certificateId ?? '';
  await report({ certificateId, attempt: 2, state: WorkState.SUCCEEDED, chainDer: await issue(spec) });
  expect(await found()).toMatchObject({ state: 'ordering' });
  await succeed(await issue(spec, 'other.example.test'));
  expect(await found()).toMatchObject({ state: 'failed', failure: { code: 'certificate.invalid_chain' } });
});

test('a chain that no authority would issue is not accepted: it signs itself, or is valid for years', async () => {
  await plan();
  const spec = await specOf();
  const { keyDer } = fromBinary(CertificateKeySchema, await open(spec?.order?.sealedKey ?? new Uint8Array()));
  const file = join(folder, 'own.pem');
  const key = createPrivateKey({ key: Buffer.from(keyDer), type: 'pkcs8', format: 'der' });
  writeFileSync(file, key.export({ type: 'pkcs8', format: 'pem' }));
  const form = [
    'req',
    '-x509',
    '-key',
    file,
    '-days',
    '90',
    '-subj',
    '/CN=own',
    '-addext',
    `subjectAltName=DNS:${host}`,
  ];
  await succeed([new Uint8Array(new X509Certificate(execFileSync('openssl', form)).raw)]);
  expect(await found()).toMatchObject({ state: 'failed', failure: { code: 'certificate.invalid_chain' } });
  world.clock.forward(61_000);
  await equip(world.serverId);
  await plan();
  await succeed(await issue(await specOf(), host, '3000'), 2);
  expect(await found()).toMatchObject({ state: 'failed', failure: { code: 'certificate.invalid_chain' } });
});

test('a certificate that is not valid by the clock here is explained, and not ordered in a loop', async () => {
  await plan();
  world.clock.forward(100 * 86_400_000);
  await equip(world.serverId);
  await succeed(await issue(await specOf()));
  const failed = await found();
  expect(failed).toMatchObject({ state: 'failed', failure: { code: 'certificate.clock' } });
  expect(failed?.failure?.message).toContain('the clock of the control plane says');
  expect(failed?.nextAttemptAt).toEqual(new Date(world.clock.now().getTime() + 12 * 3_600_000));
});

test('what an agent reports about times is bounded', async () => {
  await plan();
  const spec = await specOf();
  const certificateId = spec?.certificateId ?? '';
  const chainDer = await issue(spec);
  // A renewal almost at once, whatever the authority says; later than the real time at which openssl signed the chain.
  const renewUnixMs = BigInt(world.clock.now().getTime() + 120_000);
  await report({ certificateId, attempt: 1, state: WorkState.SUCCEEDED, chainDer, renewUnixMs });
  world.clock.forward(180_000);
  await equip(world.serverId);
  await plan();
  expect((await specOf())?.order).toBeUndefined();
  world.clock.forward(3_600_000);
  await equip(world.serverId);
  await plan();
  expect(await specOf()).toMatchObject({ order: { attempt: 2 } });
  const failure = { code: 'certificate.rate_limited', message: 'Too many.' };
  const retryAfterUnixMs = BigInt(world.clock.now().getTime() + 900 * 86_400_000);
  await report({ certificateId, attempt: 2, state: WorkState.FAILED, failure, retryAfterUnixMs });
  expect((await found())?.nextAttemptAt).toEqual(new Date(world.clock.now().getTime() + 7 * 86_400_000));
});

test('the order of a detached domain ends, and its certificate and keys are deleted', async () => {
  await plan();
  await world.tenant((ctx) => detachDomain(ctx, { domainId: domainId as never }));
  await plan();
  const left = await world.system(async ({ tx }) => [await tx.certificate.count(), await tx.certificateKey.count()]);
  // The account keeps its key.
  expect(left).toEqual([0, 1]);
});

test('a failed order is repeated after a pause that grows, or that the authority demands', async () => {
  const pauses: number[] = [];
  for (let attempt = 1; attempt <= 3; attempt += 1) {
    await plan();
    const certificateId = (await specOf())?.certificateId ?? '';
    await report({
      certificateId,
      attempt,
      state: WorkState.FAILED,
      failure: { code: 'certificate.dns', message: 'No.' },
    });
    const { nextAttemptAt } = (await found()) ?? {};
    pauses.push(((nextAttemptAt?.getTime() ?? 0) - world.clock.now().getTime()) / 60_000);
    await plan();
    expect((await specOf())?.order).toBeUndefined();
    world.clock.forward((nextAttemptAt?.getTime() ?? 0) - world.clock.now().getTime());
    await equip(world.serverId);
  }
  expect(pauses).toEqual([1, 5, 15]);

  await plan();
  const certificateId = (await specOf())?.certificateId ?? '';
  const until = world.clock.now().getTime() + 48 * 3_600_000;
  await report({
    certificateId,
    attempt: 4,
    state: WorkState.FAILED,
    failure: { code: 'certificate.rate_limited', message: 'Too many.' },
    retryAfterUnixMs: BigInt(until),
  });
  expect((await found())?.nextAttemptAt).toEqual(new Date(until));
  world.clock.forward(3_600_000);
  const retry = () => world.tenant((ctx) => retryCertificate(ctx, { domainId: domainId as never }));
  await expect(retry()).rejects.toMatchObject({ code: 'certificate.too_soon' });
});

test('a person orders at once, but not within a minute of a failure', async () => {
  await plan();
  const certificateId = (await specOf())?.certificateId ?? '';
  for (const attempt of [1, 2]) {
    await plan();
    await report({
      certificateId,
      attempt,
      state: WorkState.FAILED,
      failure: { code: 'certificate.dns', message: 'No.' },
    });
    if (attempt === 1) world.clock.forward(61_000);
    await equip(world.serverId);
  }
  const retry = () => world.tenant((ctx) => retryCertificate(ctx, { domainId: domainId as never }));
  await expect(retry()).rejects.toMatchObject({ code: 'certificate.too_soon' });
  world.clock.forward(61_000);
  await equip(world.serverId);
  await plan();
  expect((await specOf())?.order).toBeUndefined();
  expect(await retry()).toMatchObject({ nextAttemptAt: null });
  await plan();
  expect(await specOf()).toMatchObject({ order: { attempt: 3 } });
});

test('a certificate is renewed in time, and serves until then', async () => {
  await plan();
  const chain = await issue(await specOf());
  await succeed(chain);
  const renewAt = (await found())?.renewAt;
  world.clock.forward((renewAt?.getTime() ?? 0) - world.clock.now().getTime());
  await equip(world.serverId);
  await plan();
  const renewing = await specOf();
  expect(renewing).toMatchObject({ chainDer: chain, order: { attempt: 2 } });
  const next = await issue(renewing);
  await succeed(next, 2);
  expect(await specOf()).toMatchObject({ chainDer: next });
  const keys = await world.system(({ tx }) => tx.certificateKey.count());
  // The account's and the newest.
  expect(keys).toBe(2);
});

test('an order that its server does not finish ends, and another server takes it', async () => {
  await plan();
  world.clock.forward(11 * 60_000);
  await equip(world.serverId);
  await plan();
  expect(await found()).toMatchObject({ state: 'failed', failure: { code: 'certificate.timeout' } });
});

/** Adds another server of the host; returns its id. */
async function addServer(): Promise<string> {
  const otherId = newId('srv');
  await world.system(async ({ tx }) => {
    const { placementId } = await tx.placementServer.findFirstOrThrow({ where: { serverId: world.serverId } });
    await tx.server.create({
      data: {
        id: otherId,
        organizationId: world.organizationId,
        name: 'other',
        publicKey: new Uint8Array(32),
        connectedGateway: 'test-gateway',
      },
    });
    await tx.placementServer.create({
      data: { placementId, organizationId: world.organizationId, serverId: otherId, position: 1 },
    });
  });
  await equip(otherId);
  return otherId;
}

test('an order waits until the other servers of the host answer its challenges', async () => {
  const otherId = await addServer();
  await plan();
  expect(await specOf(otherId)).toMatchObject({ challengeThumbprint: expect.stringMatching(/^.{43}$/) });
  expect((await specOf())?.order).toBeUndefined();
  const { version } = await stateOf(otherId);
  await world.system((ctx) =>
    recordReport(ctx, {
      serverId: otherId,
      report: create(ReportSchema, { applied: { epoch: 1, number: version.number } }),
    }),
  );
  expect(await specOf()).toMatchObject({ order: { attempt: 1 } });
  expect((await specOf(otherId))?.order).toBeUndefined();
});

test('a server that never answers challenges does not block the order', async () => {
  const otherId = await addServer();
  await plan();
  expect((await specOf())?.order).toBeUndefined();
  world.clock.forward(121_000);
  await equip(world.serverId);
  await equip(otherId);
  await plan();
  expect(await specOf()).toMatchObject({ order: { attempt: 1 } });
});
