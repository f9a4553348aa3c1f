// Filters, sort orders, pages and counts of the list of servers.
import { newId } from '@fairlead/contract/ids';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestWorld, testWorld } from '../testing/index.ts';
import { type ListServersInput, listServers } from './index.ts';

let db: TestDatabase;
let world: TestWorld;

beforeAll(async () => {
  db = await testDatabase();
  world = await testWorld(db.database);
  const { organizationId } = world;
  const hourAgo = new Date(world.clock.now().getTime() - 3_600_000);
  await world.system(async ({ tx }) => {
    const common = { organizationId, publicKey: new Uint8Array(32) };
    await tx.server.create({ data: { ...common, id: newId('srv'), name: 'waiting' } });
    await tx.server.create({
      data: { ...common, id: newId('srv'), name: 'zurich', lastSeenAt: hourAgo, hostInfo: { hostname: 'Rack-7' } },
    });
    await tx.server.create({
      data: {
        ...common,
        id: newId('srv'),
        name: 'berlin',
        connectedGateway: 'g',
        lastSeenAt: world.clock.now(),
        drainedAt: world.clock.now(),
      },
    });
  });
  await world.createApp('Shop', { deployNow: false });
});
afterAll(() => db.drop());

const list = (input: ListServersInput = {}) => world.tenant((ctx) => listServers(ctx, input));
const names = async (input: ListServersInput = {}) => (await list(input)).items.map(({ name }) => name);

test('without an input every server is listed by name', async () => {
  expect(await names()).toEqual(['berlin', 'local', 'waiting', 'zurich']);
  expect(await list()).toMatchObject({ total: 4, nextCursor: null });
});

test('offline servers come first by state, and servers without a value last', async () => {
  expect(await names({ sort: 'state' })).toEqual(['zurich', 'waiting', 'berlin', 'local']);
  expect(await names({ sort: 'apps' })).toEqual(['local', 'berlin', 'waiting', 'zurich']);
  expect(await names({ sort: 'name', order: 'desc' })).toEqual(['zurich', 'waiting', 'local', 'berlin']);
  expect(await names({ sort: 'last_seen', order: 'asc' })).toEqual(['zurich', 'berlin', 'local', 'waiting']);
});

test('filters combine, and pages hold each server once', async () => {
  expect(await names({ search: 'rack-7' })).toEqual(['zurich']);
  expect(await names({ search: 'IN', state: 'online' })).toEqual(['berlin']);
  expect(await names({ drained: true })).toEqual(['berlin']);
  expect(await names({ drained: false, state: 'online' })).toEqual(['local']);
  expect(await names({ search: '%' })).toEqual([]);
  const { projectId } = await world.tenant(({ tx }) => tx.app.findFirstOrThrow({ select: { projectId: true } }));
  expect(await names({ projectId: projectId as NonNullable<ListServersInput['projectId']> })).toEqual(['local']);
  const first = await list({ sort: 'state', limit: 3 });
  const second = await list({ sort: 'state', limit: 3, cursor: first.nextCursor });
  expect([first.total, second.total]).toEqual([4, null]);
  expect([...first.items, ...second.items].map(({ name }) => name)).toEqual(await names({ sort: 'state' }));
  expect(await names({ cursor: newId('srv') })).toEqual([]);
});
