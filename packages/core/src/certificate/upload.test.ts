// Tests for uploaded certificates: stored encrypted, served before ordered ones, listed, replaced and deleted.
import { createPrivateKey } from 'node:crypto';
import { fromBinary } from '@bufbuild/protobuf';
import { CertificateKeySchema, type CertificateSpec } from '@fairlead/contract/agent';
import { capabilities } from '@fairlead/contract/capabilities';
import type { UploadedCertificateId } from '@fairlead/contract/ids';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { Decrypter, generateIdentity, identityToRecipient } from 'age-encryption';
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { prepareDesiredState } from '../desired-state/index.ts';
import { attachDomain } from '../domain/index.ts';
import { createSecretSealer } from '../secret/index.ts';
import {
  auditEventsOf,
  makeChain,
  type TestChain,
  type TestWorld,
  testHosts,
  testUrl,
  testWorld,
} from '../testing/index.ts';
import {
  addCertificate,
  deleteCertificate,
  findServedLeaf,
  getCertificate,
  getCertificateDetail,
  listCertificates,
  planOrders,
  readHostCertificate,
  updateCertificate,
} from './index.ts';

const host = 'shop.example.test';
const dayMs = 86_400_000;

let db: TestDatabase;
let identity: string;
let world: TestWorld;
let domainId: string;
let exact: TestChain;
let wildcard: TestChain;

beforeAll(async () => {
  identity = await generateIdentity();
  exact = makeChain({ names: [host, 'elsewhere.example.test'] });
  wildcard = makeChain({ names: ['*.example.test'], days: 30 });
});
beforeEach(async () => {
  db = await testDatabase();
  world = await testWorld(db.database);
  await equip();
  const { appId } = await world.createApp('Shop', { deployNow: false });
  domainId = (await world.tenant((ctx) => attachDomain(ctx, { appId, host, pathPrefix: '/' }, testHosts))).id;
});
afterEach(() => db.drop());

async function equip(): Promise<void> {
  const sealingRecipient = await identityToRecipient(identity);
  await world.system(({ tx }) =>
    tx.server.update({
      where: { id: world.serverId },
      data: { sealingRecipient, capabilities: Object.keys(capabilities), lastSeenAt: world.clock.now() },
    }),
  );
}

const input = (chain: TestChain) => ({
  chainPem: [chain.leafPem, chain.intermediatePem, chain.rootPem].join('\n'),
  keyPem: chain.keyPem,
});
const add = (chain: TestChain) => world.tenant((ctx) => addCertificate(ctx, input(chain), world.keys));
const plan = () =>
  world.tenant((ctx) => planOrders(ctx, world.keys, { directoryUrl: 'https://authority.example.test/directory' }));
const entries = async (state?: 'attention' | 'unused' | 'expired') =>
  (await world.tenant((ctx) => listCertificates(ctx, { limit: 10, state }))).items;
const ofDomain = () =>
  world.tenant((ctx) => getCertificate(ctx, { domainId: domainId as never }, { acmeDirectoryUrl: 'x' }));

async function specs(): Promise<readonly CertificateSpec[]> {
  const sealer = createSecretSealer(world.keys);
  const state = await prepareDesiredState(world.system, { serverId: world.serverId, sealer, urlOf: testUrl });
  // Without the one that answers port checks.
  const { certificates } = state as unknown as { certificates: CertificateSpec[] };
  return certificates.filter(({ hosts }) => !hosts.some((name) => name.endsWith('.invalid')));
}

test('an upload is sent to the servers of its hosts with its key, and listed with names, servers and history', async () => {
  const { certificateId, names } = await add(exact);
  expect(names).toEqual([host, 'elsewhere.example.test']);
  const [spec] = await specs();
  // Only the hosts that the server has.
  expect(spec).toMatchObject({ certificateId, hosts: [host] });
  expect(spec?.chainDer).toHaveLength(3);
  const decrypter = new Decrypter();
  decrypter.addIdentity(identity);
  const opened = fromBinary(CertificateKeySchema, await decrypter.decrypt(spec?.sealedKey ?? new Uint8Array()));
  const key = createPrivateKey({ key: Buffer.from(opened.keyDer), type: 'pkcs8', format: 'der' });
  expect(key.equals(createPrivateKey(exact.keyPem))).toBe(true);
  expect(opened.certificateId).toBe(certificateId);

  expect(await entries()).toMatchObject([
    {
      id: certificateId,
      source: 'upload',
      state: 'issued',
      issuer: 'Test intermediate',
      servers: [{ id: world.serverId }],
      domains: [{ id: domainId, host }],
    },
  ]);
  const detail = await world.tenant((ctx) => getCertificateDetail(ctx, { certificateId }));
  expect(detail).toMatchObject({ leaf: { key: 'ECDSA P-256' }, events: [{ kind: 'uploaded' }] });
  expect(await ofDomain()).toMatchObject({ kind: 'upload', certificate: { id: certificateId, state: 'issued' } });
});

test('the key is stored encrypted, and no answer or audit event has it', async () => {
  const result = await add(exact);
  const secret = exact.keyPem.split('\n')[1] ?? '';
  const der = createPrivateKey(exact.keyPem).export({ type: 'pkcs8', format: 'der' });
  const [row] = await world.system(({ tx }) => tx.certificateKey.findMany());
  expect(Buffer.from(row?.envelope ?? []).includes(der)).toBe(false);
  const shown = JSON.stringify([result, await entries(), await auditEventsOf(world)]);
  expect(shown.includes(secret)).toBe(false);
  expect(shown).toContain('certificate.add');
});

test('an uploaded certificate is served in place of the ordered one, and no order is placed meanwhile', async () => {
  await plan();
  expect((await specs())[0]?.order).toBeDefined();
  await world.system(({ tx }) =>
    tx.certificate.updateMany({ data: { orderServerId: null, orderKeyId: null, orderedAt: null } }),
  );
  const { certificateId } = await add(wildcard);
  await plan();
  const [ordered, uploaded] = await specs();
  expect(ordered?.order).toBeUndefined();
  expect(uploaded).toMatchObject({ certificateId, hosts: [host] });
  expect(await entries('unused')).toMatchObject([{ source: 'acme', names: [host] }]);

  const { version } = await world.system(({ tx }) =>
    tx.server
      .findUniqueOrThrow({ where: { id: world.serverId } })
      .then(({ desiredNumber }) => ({ version: desiredNumber })),
  );
  await world.tenant((ctx) => deleteCertificate(ctx, { certificateId }));
  await plan();
  expect(await specs()).toMatchObject([{ hosts: [host], order: { attempt: 2 } }]);
  const after = await world.system(({ tx }) => tx.server.findUniqueOrThrow({ where: { id: world.serverId } }));
  expect(after.desiredNumber > version).toBe(true);
  // The account's and those of both orders.
  expect(await world.system(({ tx }) => tx.certificateKey.count())).toBe(3);
});

test('an upload never replaces the certificate of the dashboard, which only operators choose', async () => {
  const panel = 'panel.example.test';
  await world.system(async ({ tx }) => {
    await tx.server.update({ where: { id: world.serverId }, data: { isLocal: true } });
    await tx.dashboardDomain.create({
      data: { id: 'dsd_panel', organizationId: world.organizationId, host: panel, createdAt: world.clock.now() },
    });
  });
  await add(wildcard);
  await add(makeChain({ names: [host, panel] }));
  await plan();
  const all = await specs();
  expect(all.find(({ hosts }) => hosts.includes(panel))?.certificateId).toMatch(/^crt_/);
  expect(all.filter(({ hosts }) => hosts.includes(panel))).toHaveLength(1);
  const listed = await entries();
  expect(listed.find(({ host: name }) => name === panel)).toMatchObject({ source: 'acme', state: 'ordering' });
  expect(listed.filter(({ source }) => source === 'upload')).toMatchObject([
    { domains: [{ host }] },
    { domains: [{ host }] },
  ]);
  expect(await world.tenant((ctx) => readHostCertificate(ctx, { host: panel, automatic: false }, 'x'))).toMatchObject({
    kind: 'public',
  });
  expect(await world.tenant((ctx) => findServedLeaf(ctx, panel))).toBeNull();
});

test('an order starts a day before the upload ends, and the expired upload serves until the order is done', async () => {
  const { certificateId } = await add(wildcard);
  const upload = await world.system(({ tx }) => tx.uploadedCertificate.findFirstOrThrow());
  const until = async (ms: number) => {
    world.clock.forward(upload.notAfter.getTime() + ms - world.clock.now().getTime());
    await equip();
    await plan();
  };
  await until(-2 * dayMs);
  expect(await specs()).toMatchObject([{ certificateId }]);
  await until(-dayMs + 1000);
  expect(await specs()).toMatchObject([{ order: { attempt: 1 } }, { certificateId }]);
  expect(await entries('attention')).toMatchObject([{ id: certificateId, state: 'issued' }]);
  await until(1000);
  expect(await specs()).toMatchObject([{ chainDer: [] }, { certificateId }]);
  expect(await entries('expired')).toMatchObject([{ id: certificateId }]);
  expect(await world.system(({ tx }) => tx.uploadedCertificate.findFirst())).toMatchObject({
    endedAt: world.clock.now(),
  });
});

test('the exact name wins over a wildcard, and the newer upload over the older', async () => {
  const first = await add(wildcard);
  world.clock.forward(1000);
  await equip();
  const second = await add(exact);
  expect(await specs()).toMatchObject([{ certificateId: second.certificateId }]);
  world.clock.forward(1000);
  await equip();
  await add(wildcard);
  expect(await specs()).toMatchObject([{ certificateId: second.certificateId }]);
  await world.tenant((ctx) => deleteCertificate(ctx, { certificateId: second.certificateId }));
  const [served] = await specs();
  expect(served?.certificateId).not.toBe(first.certificateId);
});

test('a replacement changes chain and key, deletes the former key and starts reminders anew', async () => {
  const { certificateId } = await add(wildcard);
  await world.system(({ tx }) => tx.uploadedCertificate.updateMany({ data: { remindedDays: 3 } }));
  await world.tenant((ctx) => updateCertificate(ctx, { certificateId, ...input(exact) }, world.keys));
  expect(await specs()).toMatchObject([{ certificateId, hosts: [host] }]);
  expect(await world.system(({ tx }) => tx.certificateKey.count())).toBe(1);
  const row = await world.system(({ tx }) => tx.uploadedCertificate.findFirstOrThrow());
  expect([row.names, row.remindedDays]).toEqual([[host, 'elsewhere.example.test'], null]);
  const { events } = await world.tenant((ctx) => getCertificateDetail(ctx, { certificateId }));
  expect(events.map(({ kind }) => kind).sort()).toEqual(['replaced', 'uploaded']);
});

test('a certificate for names of nobody here is refused, and an unknown one is missing', async () => {
  await expect(add(makeChain({ names: ['other.example.com'] }))).rejects.toMatchObject({
    code: 'certificate.names_not_covered',
  });
  const certificateId = 'ucr_00000000000000000000' as UploadedCertificateId;
  for (const call of [
    world.tenant((ctx) => deleteCertificate(ctx, { certificateId })),
    world.tenant((ctx) => updateCertificate(ctx, { certificateId, ...input(exact) }, world.keys)),
    world.tenant((ctx) => getCertificateDetail(ctx, { certificateId })),
  ]) {
    await expect(call).rejects.toMatchObject({ code: 'certificate.missing' });
  }
});

test('the list is sorted by name, searched, paged and limited to the reach of the reader', async () => {
  const { appId } = await world.createApp('Local', { deployNow: false, host: 'local.localhost' });
  for (const name of ['b.example.test', 'a.example.test']) {
    await world.tenant((ctx) => attachDomain(ctx, { appId, host: name, pathPrefix: '/' }, testHosts));
  }
  await plan();
  await add(exact);
  const list = (more: object) => world.tenant((ctx) => listCertificates(ctx, { limit: 2, ...more }));
  const names: string[] = [];
  let cursor: string | null = null;
  do {
    const page: Awaited<ReturnType<typeof list>> = await list({ cursor });
    names.push(...page.items.map((item) => `${item.source} ${item.host}`));
    cursor = page.nextCursor;
  } while (cursor !== null);
  expect(names.filter((name) => !name.includes('shop-'))).toEqual([
    'acme a.example.test',
    'acme b.example.test',
    'local local.localhost',
    'acme shop.example.test',
    'upload shop.example.test',
  ]);
  expect((await list({ search: 'ELSEWHERE' })).items).toMatchObject([{ source: 'upload' }]);
  expect((await list({ search: 'e_sewhere' })).items).toEqual([]);
  const nothing = { everywhere: false, projectIds: [], environmentIds: [] };
  const hidden = await world.tenant((ctx) => listCertificates(ctx, { limit: 10 }, nothing));
  expect(hidden.items).toEqual([]);
});
