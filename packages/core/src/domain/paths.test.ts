import { newId, parseId } from '@fairlead/contract/ids';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { attachServer } from '../placement/index.ts';
import { type TestWorld, testWorld } from '../testing/index.ts';
import { policyInputSchema } from '../traffic/index.ts';
import { attachDomain, attachDomainInputSchema, detachDomain, listDomains, updateDomainPolicy } from './index.ts';

const links = { localHttpsPort: 4443, localHttpPort: 4480, controlHost: '', publicHost: '' };
let db: TestDatabase;
let world: TestWorld;
let site: string;
let api: string;

beforeAll(async () => {
  db = await testDatabase();
  world = await testWorld(db.database);
  [site, api] = [await live('Site'), await live('Api')];
});
afterAll(() => db.drop());

async function live(name: string): Promise<string> {
  const { appId, deploymentId } = await world.createApp(name);
  await world.advance(deploymentId ?? '');
  await world.finish(deploymentId ?? '');
  return appId;
}

const attach = (appId: string, host: string, pathPrefix?: string) => {
  const input = attachDomainInputSchema.parse({ appId, host, pathPrefix });
  return world.tenant((ctx) => attachDomain(ctx, input, links));
};

test('a host routes to one app, and a path of it to another', async () => {
  await attach(site, 'example.test');
  const path = await attach(api, 'example.test', '/api/');
  expect(path).toMatchObject({ host: 'example.test', pathPrefix: '/api', url: 'https://example.test:4443/api' });
  await world.tenant((ctx) =>
    updateDomainPolicy(ctx, { domainId: path.id, policy: policyInputSchema.parse({ stripPrefix: true }) }),
  );
  // Servers get them app by app, in any order.
  const routes = (await world.desired()).routes.toSorted(
    (one, other) => other.pathPrefix.length - one.pathPrefix.length,
  );
  expect(routes.map(({ host, pathPrefix, target, policy }) => [host, pathPrefix, target.value, policy])).toMatchObject([
    ['example.test', '/api', { appId: api }, { stripPrefix: true }],
    ['example.test', '/', { appId: site }, undefined],
  ]);
  await expect(attach(site, 'example.test', '/api')).rejects.toMatchObject({
    code: 'domain.taken',
    details: { host: 'example.test/api' },
  });
});

test('domains are paged by host and path', async () => {
  await attach(site, 'example.test', '/docs');
  const page = (cursor?: string) => world.tenant((ctx) => listDomains(ctx, { limit: 2, cursor }, links));
  const first = await page();
  expect(first.items.map(({ pathPrefix }) => pathPrefix)).toEqual(['/', '/api']);
  expect((await page(first.nextCursor ?? '')).items.map(({ pathPrefix }) => pathPrefix)).toEqual(['/docs']);
});

test('no other organization gets a path of a local host that is taken, and it is free with its last path', async () => {
  const other = await testWorld(db.database, 'Other');
  const { appId } = await other.createApp('Sly');
  const steal = (pathPrefix: string) =>
    other.tenant((ctx) =>
      attachDomain(ctx, { appId: parseId('app', appId), host: 'lone.localhost', pathPrefix }, links),
    );
  const { id } = await attach(site, 'lone.localhost', '/only');
  for (const path of ['/', '/only', '/other'])
    await expect(steal(path)).rejects.toMatchObject({ code: 'domain.taken' });
  await world.tenant((ctx) => detachDomain(ctx, { domainId: id }));
  expect(await steal('/other')).toMatchObject({ host: 'lone.localhost', pathPrefix: '/other' });
});

test('a path routes to an app on exactly the servers of its host', async () => {
  const { organizationId } = world;
  const second = newId('srv');
  const publicKey = new Uint8Array(32).fill(3);
  await world.system(({ tx }) => tx.server.create({ data: { id: second, organizationId, name: 'edge', publicKey } }));
  const [wide, narrow] = [await live('Wide'), await live('Narrow')];
  await world.tenant((ctx) => attachServer(ctx, { appId: parseId('app', wide), serverId: second }));
  await attach(wide, 'wide.test');
  await attach(narrow, 'narrow.test');
  await expect(attach(narrow, 'wide.test', '/api')).rejects.toMatchObject({ code: 'domain.elsewhere' });
  await expect(attach(wide, 'narrow.test', '/api')).rejects.toMatchObject({ code: 'domain.elsewhere' });
  await world.tenant((ctx) => attachServer(ctx, { appId: parseId('app', narrow), serverId: second }));
  expect(await attach(narrow, 'wide.test', '/api')).toMatchObject({ pathPrefix: '/api' });
});

test.each(['api', '/a b', '/a/../b', '/.well-known/x', '/a//b', '/%61', '/a?b', '/a;b', `/${'a'.repeat(200)}`])(
  '%j is no path to attach',
  (pathPrefix) => {
    const parsed = attachDomainInputSchema.safeParse({ appId: site, host: 'example.test', pathPrefix });
    expect(parsed.error?.issues.map(({ path }) => path)).toEqual([['pathPrefix']]);
  },
);
