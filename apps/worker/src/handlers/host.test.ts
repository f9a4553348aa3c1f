import { detachDomain } from '@fairlead/core/domain';
import { claimDueHosts, getHost, recordHostCheck, verifyHost } from '@fairlead/core/host';
import { updateAddresses } from '@fairlead/core/server';
import { type TestWorld, testWorld } from '@fairlead/core/testing';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { startDnsServer, type TestDnsServer } from '@fairlead/testkit/dns-server';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createHostLookup } from '../host-lookup.ts';
import { checkHostsHandler } from './host.ts';

const log = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: (_: object, message: string) => expect.fail(message),
};
const host = 'shop.example.test';
const capabilities = ['certificate', 'certificate.challenge'];

let db: TestDatabase;
let dns: TestDnsServer;
let world: TestWorld;
let domainId: never;
beforeEach(async () => {
  db = await testDatabase();
  dns = await startDnsServer();
  world = await testWorld(db.database);
  await world.createApp('Shop', { host, deployNow: false });
  await world.tenant((ctx) => updateAddresses(ctx, { serverId: world.serverId, addresses: ['8.8.4.4', '2a01::7'] }));
  domainId = (await world.tenant(({ tx }) => tx.domain.findFirstOrThrow())).id as never;
});
afterEach(async () => {
  await dns.close();
  await db.drop();
});

async function check(allowed: readonly string[] = []): Promise<Awaited<ReturnType<typeof getHost>>> {
  const { clock } = world;
  const options = { resolvers: [dns.address], allowed, acmeDirectoryUrl: '', acmeCaPem: '', clock, log };
  const stopping = new AbortController().signal;
  await checkHostsHandler(
    { database: db.database, hostLookup: createHostLookup(options), clock, log, stopping } as never,
    {},
  );
  return view();
}
const view = () => world.tenant((ctx) => getHost(ctx, { domainId }));

test('a host goes from no record to ready, by its own checks and on demand', async () => {
  expect(await view()).toMatchObject({ state: 'pending', zone: 'example.test', isApex: false });
  expect(await check()).toMatchObject({ state: 'not_resolving', missingAddresses: ['8.8.4.4', '2a01::7'] });
  dns.set(host, [{ type: 'A', value: '8.8.4.4' }]);
  // The next check is not due yet.
  expect(await check()).toMatchObject({ state: 'not_resolving' });
  world.clock.forward(10_000);
  expect(await check()).toMatchObject({ state: 'partial', missingAddresses: ['2a01::7'] });

  // Demanded right after a check, the next one comes when its pause is over.
  await world.tenant((ctx) => verifyHost(ctx, { domainId }));
  expect((await view())?.nextCheckAt).toEqual(new Date(world.clock.now().getTime() + 3_000));
  dns.set(host, [
    { type: 'A', value: '8.8.4.4' },
    { type: 'AAAA', value: '2a01::7' },
  ]);
  world.clock.forward(3_000);
  const ready = await check();
  expect(ready).toMatchObject({ state: 'ready', missingAddresses: [], arePortsChecked: false });
  expect(ready?.nextCheckAt).toEqual(new Date(world.clock.now().getTime() + 60_000));
});

test('a check that is demanded during another one is not lost', async () => {
  const [due] = await world.system(claimDueHosts);
  await world.tenant((ctx) => verifyHost(ctx, { domainId }));
  dns.set(host, [{ type: 'A', value: '8.8.4.4' }]);
  const findings = { addresses: [], aliases: [], challengeAlias: null, caa: null, ports: [], failure: null };
  const organizationId = due?.organizationId ?? world.organizationId;
  await world.system((ctx) => recordHostCheck(ctx, { organizationId, host, findings, texts: [] }));
  expect(await check()).toMatchObject({ state: 'partial' });
});

test('a check follows aliases, and an outage of the DNS is no missing record', async () => {
  dns.set(host, [{ type: 'CNAME', value: 'edge.cloudfront.net' }]);
  dns.set('edge.cloudfront.net', [{ type: 'A', value: '1.2.3.4' }]);
  expect(await check()).toMatchObject({
    state: 'proxied',
    cdn: 'Amazon CloudFront',
    found: { aliases: ['edge.cloudfront.net'] },
  });
  dns.refuse(true);
  world.clock.forward(10_000);
  expect(await check()).toMatchObject({ state: 'check_failed', found: { failure: 'EREFUSED' } });
});

test('ports are asked at addresses of the host’s own servers only, and not where the operator forbids them', async () => {
  await world.system(({ tx }) => tx.server.updateMany({ data: { isLocal: false, capabilities } }));
  await world.tenant((ctx) => updateAddresses(ctx, { serverId: world.serverId, addresses: ['127.0.0.1'] }));
  dns.set(host, [
    { type: 'A', value: '127.0.0.1' },
    { type: 'A', value: '127.0.0.2' },
  ]);
  expect((await check())?.found?.ports).toEqual([]);
  world.clock.forward(10_000);
  const checked = await check(['127.0.0.0/8']);
  expect(new Set(checked?.found?.ports.map(({ address }) => address))).toEqual(new Set(['127.0.0.1']));

  // An agent that can't answer would look like another web server.
  await world.system(({ tx }) => tx.server.updateMany({ data: { capabilities: ['certificate'] } }));
  world.clock.forward(10_000);
  expect((await check(['127.0.0.0/8']))?.arePortsChecked).toBe(false);
});

test('a detached host is checked no longer', async () => {
  await world.tenant((ctx) => detachDomain(ctx, { domainId }));
  const { clock } = world;
  const hostLookup = { lookUp: () => expect.fail('nothing is due') };
  const stopping = new AbortController().signal;
  await checkHostsHandler({ database: db.database, hostLookup, clock, log, stopping } as never, {});
  expect(await world.system(({ tx }) => Promise.all([tx.domainHost.count(), tx.hostProof.count()]))).toEqual([0, 0]);
});
