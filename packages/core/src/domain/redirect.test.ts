import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestWorld, testHosts, testWorld } from '../testing/index.ts';
import { attachDomain, attachDomainInputSchema, getDomain } from './index.ts';

let db: TestDatabase;
let world: TestWorld;
let appId: string;
beforeAll(async () => {
  db = await testDatabase();
  world = await testWorld(db.database);
  const app = await world.createApp('Shop', { host: 'example.com' });
  appId = app.appId;
  await world.system(({ tx }) => tx.server.updateMany({ data: { capabilities: ['inspect', 'traffic'] } }));
  await world.advance(app.deploymentId ?? '');
  await world.finish(app.deploymentId ?? '');
  await world.advance(app.deploymentId ?? '');
});
afterAll(() => db.drop());

const attach = (input: object) =>
  world.tenant((ctx) => attachDomain(ctx, attachDomainInputSchema.parse({ appId, ...input }), testHosts));

test('a host redirects to another one, and its server gets the redirect', async () => {
  const { id } = await attach({ host: 'www.example.com', redirectTo: 'example.com' });
  // The local server's proxy serves HTTPS on another port here.
  const redirect = { to: 'https://example.com:4443', status: 308, keepPath: true };
  expect((await world.tenant((ctx) => getDomain(ctx, { domainId: id }, testHosts))).policy).toMatchObject({ redirect });
  const route = (await world.desired()).routes.find(({ host }) => host === 'www.example.com');
  expect(route?.target).toMatchObject({ case: 'redirect', value: redirect });
});

test('a host does not redirect to itself, nor to a wildcard', async () => {
  const loop = attach({ host: 'loop.example.com', redirectTo: 'loop.example.com' });
  await expect(loop).rejects.toMatchObject({ code: 'domain.redirects_to_itself' });
  const wild = { appId, host: 'www.example.com', redirectTo: '*.example.com' };
  expect(attachDomainInputSchema.safeParse(wild).success).toBe(false);
});

test('a wildcard leads to the app, beside an exact host', async () => {
  await attach({ host: '*.example.com' });
  const hosts = (await world.desired()).routes.map(({ host }) => host);
  expect(hosts).toEqual(expect.arrayContaining(['*.example.com', 'example.com', 'www.example.com']));
});
