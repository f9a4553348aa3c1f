// Test of the first answer of a dashboard's domain, from a TLS server that stands for the local server's proxy.
import { X509Certificate } from 'node:crypto';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { planOrders } from '@fairlead/core/certificate';
import { makeChain, silentLog, type TestChain, type TestWorld, testWorld } from '@fairlead/core/testing';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { verifyDashboardDomainsHandler } from './dashboard-domain.ts';

const host = 'panel.example.test';

let db: TestDatabase;
let world: TestWorld;
let expected: TestChain;
let server: Server | undefined;
beforeEach(async () => {
  db = await testDatabase();
  world = await testWorld(db.database);
  expected = makeChain({ names: [host] });
  const { organizationId } = world;
  await world.system(({ tx }) =>
    tx.dashboardDomain.create({ data: { id: 'dsd_panel', organizationId, host, createdAt: world.clock.now() } }),
  );
  await world.tenant((ctx) =>
    planOrders(ctx, world.keys, { directoryUrl: 'https://authority.example.test/directory' }),
  );
  await world.system(async ({ tx }) => {
    await tx.domainHost.create({ data: { organizationId, host, state: 'ready' } });
    const { id, accountId } = await tx.certificate.findFirstOrThrow({ where: { host } });
    const { keyId } = await tx.acmeAccount.findUniqueOrThrow({ where: { id: accountId } });
    const chain = [expected.leafPem, expected.intermediatePem].map(
      (pem) => new Uint8Array(new X509Certificate(pem).raw),
    );
    const notAfter = new Date(world.clock.now().getTime() + 3_600_000);
    await tx.certificate.update({ where: { id }, data: { chain, keyId, notAfter } });
  });
});
afterEach(async () => {
  server?.closeAllConnections();
  server?.close();
  await db.drop();
});

/** Starts the server with a chain; returns its port. */
async function serve({ leafPem, intermediatePem, keyPem }: TestChain, status = 200): Promise<number> {
  server = createServer({ cert: leafPem + intermediatePem, key: keyPem }, ({ url }, response) => {
    response.writeHead(url === '/healthz' ? status : 404).end();
  });
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

async function hasAnswered(servedPort?: number): Promise<boolean> {
  const parts = { database: db.database, clock: world.clock, log: silentLog, ...(servedPort ? { servedPort } : {}) };
  await verifyDashboardDomainsHandler(parts as never, {});
  const { answeredAt } = await world.system(({ tx }) => tx.dashboardDomain.findFirstOrThrow());
  return answeredAt !== null;
}

test('a domain has answered once the proxy serves its certificate and the dashboard is healthy', async () => {
  const port = await serve(expected);
  expect(await hasAnswered()).toBe(false);
  expect(await hasAnswered(port)).toBe(true);
});

test('another certificate of the name, and a dashboard that is not healthy, are no answer', async () => {
  expect(await hasAnswered(await serve(makeChain({ names: [host] })))).toBe(false);
  server?.close();
  expect(await hasAnswered(await serve(expected, 503))).toBe(false);
});
