import { parseId } from '@fairlead/contract/ids';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { attachDomain, detachDomain } from '../domain/index.ts';
import type { Ctx } from '../kernel/index.ts';
import { auditEventsOf, type TestWorld, testHosts, testWorld } from '../testing/index.ts';
import { acceptHost, getHost, pruneHosts, recordHostCheck, releaseHost, transferHost } from './index.ts';

interface Party {
  readonly world: TestWorld;
  readonly appId: string;
}

let db: TestDatabase;
let ann: Party;
let bob: Party;
beforeAll(async () => {
  db = await testDatabase();
  [ann, bob] = [await party('ann'), await party('bob')];
});
afterAll(() => db.drop());

/** A host in a zone of its own: tests share the database. */
let zones = 0;
const nextHost = () => `shop.zone${++zones}.com`;

async function party(name: string): Promise<Party> {
  const world = await testWorld(db.database, name);
  const { appId, deploymentId } = await world.createApp('Shop');
  await world.advance(deploymentId ?? '');
  await world.finish(deploymentId ?? '');
  await world.advance(deploymentId ?? '');
  return { world, appId };
}

const attach = ({ world, appId }: Party, host: string) =>
  world.tenant((ctx) => attachDomain(ctx, { appId: parseId('app', appId), host, pathPrefix: '/' }, testHosts));
const serves = async ({ world }: Party, host: string) =>
  (await world.desired()).routes.some((route) => route.host === host);
const viewOf = async ({ world }: Party, host: string) => {
  const get = (ctx: Ctx) =>
    ctx.tx.domain
      .findFirstOrThrow({ where: { host } })
      .then(({ id }) => getHost(ctx, { domainId: parseId('dom', id) }));
  const view = await world.tenant(get);
  if (view === null) throw new Error(`${host} is local`);
  return view;
};
/** Checks a host as if the zone had the tokens of these organizations. */
async function check({ world }: Party, host: string, publishedBy: readonly Party[] = []): Promise<void> {
  const texts = await Promise.all(publishedBy.map(async (each) => (await viewOf(each, host)).ownership.record.value));
  const findings = { addresses: [], aliases: [], challengeAlias: null, caa: null, ports: [], failure: null };
  await world.system((ctx) => recordHostCheck(ctx, { organizationId: world.organizationId, host, findings, texts }));
}
const version = async ({ world }: Party) => (await world.desired()).version?.number ?? 0n;

test('of two organizations with an unproven host, the first serves it until the other proves it', async () => {
  const host = nextHost();
  await attach(ann, host);
  bob.world.clock.forward(1000);
  await attach(bob, host);
  expect([await serves(ann, host), await serves(bob, host)]).toEqual([true, false]);
  await check(bob, host);
  expect((await viewOf(bob, host)).ownership).toMatchObject({ conflict: 'claimed', provenAt: null });

  const before = [await version(ann), await version(bob)];
  await check(bob, host, [bob]);
  expect([await serves(ann, host), await serves(bob, host)]).toEqual([false, true]);
  expect((await viewOf(ann, host)).ownership.conflict).toBe('proven');
  expect((await viewOf(bob, host)).ownership).toMatchObject({ conflict: null, provenAt: bob.world.clock.now() });
  // Both servers get a new state at once.
  expect([await version(ann), await version(bob)]).toEqual(before.map((number) => number + 1n));
});

test('a name that another organization has proven is never served, nor is one below it or a wildcard', async () => {
  await attach(ann, 'example.com');
  await check(ann, 'example.com', [ann]);
  for (const host of ['example.com', 'deep.shop.example.com']) {
    await attach(bob, host);
    expect(await serves(bob, host), host).toBe(false);
  }
  await attach(bob, 'notexample.com');
  expect(await serves(bob, 'notexample.com')).toBe(true);
});

test('two proofs that are seen at once make one owner', async () => {
  const host = nextHost();
  await attach(ann, host);
  await attach(bob, host);
  await Promise.all([check(ann, host, [ann, bob]), check(bob, host, [ann, bob])]);
  const proven = await ann.world.system(({ tx }) => tx.hostProof.count({ where: { host, provenAt: { not: null } } }));
  expect(proven).toBe(1);
  expect([await serves(ann, host), await serves(bob, host)].filter(Boolean)).toHaveLength(1);
});

test('a name that its first organization detaches goes to the next one', async () => {
  const host = nextHost();
  const { id } = await attach(ann, host);
  bob.world.clock.forward(1000);
  await attach(bob, host);
  await ann.world.tenant((ctx) => detachDomain(ctx, { domainId: id }));
  await check(bob, host);
  await ann.world.system(pruneHosts);
  expect(await serves(bob, host)).toBe(true);
});

test('a proof outlives its domain, until it is released', async () => {
  const host = nextHost();
  const { id } = await attach(ann, host);
  await check(ann, host, [ann]);
  await ann.world.tenant((ctx) => detachDomain(ctx, { domainId: id }));
  await ann.world.system(pruneHosts);
  await attach(bob, host);
  expect(await serves(bob, host)).toBe(false);
  const again = await attach(ann, host);
  const token = (await viewOf(ann, host)).ownership.record.value;
  await ann.world.tenant((ctx) => releaseHost(ctx, { domainId: again.id }));
  expect((await auditEventsOf(ann.world)).at(-1)).toMatchObject({ action: 'host.release', targetLabel: host });
  // The old record proves nothing any more.
  expect((await viewOf(ann, host)).ownership.record.value).not.toBe(token);
  await check(bob, host, [bob]);
  expect(await serves(bob, host)).toBe(true);
});

test('a transfer code gives a proof to the organization that accepts with it, once', async () => {
  const host = nextHost();
  const { id } = await attach(ann, host);
  await check(ann, host, [ann]);
  await attach(bob, host);
  const accept = (code: string, of = bob, name = host) =>
    of.world.system((ctx) => {
      const { organizationId } = of.world;
      const actor = { kind: 'system' as const, reason: 'a test' };
      return acceptHost(ctx, { organizationId, actor, ip: null, host: name, code });
    });
  const { code } = await ann.world.tenant((ctx) => transferHost(ctx, { domainId: id }));
  for (const attempt of [() => accept('fl_host_wrong'), () => accept(code, ann), () => accept(code, bob, 'other.com')])
    await expect(attempt()).rejects.toMatchObject({ code: 'domain.transfer_invalid' });
  await accept(code);
  expect([await serves(ann, host), await serves(bob, host)]).toEqual([false, true]);
  expect((await auditEventsOf(ann.world)).at(-1)).toMatchObject({ action: 'host.release' });
  expect((await auditEventsOf(bob.world)).at(-1)).toMatchObject({ action: 'host.accept' });
  await expect(accept(code)).rejects.toMatchObject({ code: 'domain.transfer_invalid' });
});

test('a name of each machine itself belongs to the first organization', async () => {
  await attach(ann, 'shop.localhost');
  await expect(attach(bob, 'shop.localhost')).rejects.toMatchObject({ code: 'domain.taken' });
});
