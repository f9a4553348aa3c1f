// Filters, sort orders, pages and counts of the list of apps, also for a reader who may see a part of them.
import { create } from '@bufbuild/protobuf';
import { FrameSchema } from '@fairlead/contract/agent';
import { bucketIndex, histogramToWire } from '@fairlead/contract/histogram';
import { type EnvironmentId, newId, type ServerId } from '@fairlead/contract/ids';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { forOrganization } from '../kernel/index.ts';
import { recordFrames } from '../metric/index.ts';
import type { Reach } from '../role/index.ts';
import { type TestWorld, testHosts, testWorld } from '../testing/index.ts';
import { type ListAppsInput, listApps } from './index.ts';

let db: TestDatabase;
let world: TestWorld;
let staging: EnvironmentId;
let production: string;
let otherServerId: ServerId;

/** Names in their order: Alpha is slow, Bravo fails, Charlie was never deployed, Delta runs in two environments. */
beforeAll(async () => {
  db = await testDatabase();
  world = await testWorld(db.database);
  const alpha = await world.createApp('Alpha', { host: 'alpha.example.test' });
  world.clock.forward(1000);
  const bravo = await world.createApp('Bravo', { branch: 'next' });
  await world.createApp('Charlie', { deployNow: false });
  world.clock.forward(1000);
  const delta = await world.createApp('Delta');
  for (const { deploymentId } of [alpha, delta]) {
    await world.advance(deploymentId ?? '');
    await world.finish(deploymentId ?? '');
  }
  otherServerId = newId('srv');
  await world.system(({ tx }) =>
    tx.server.create({
      data: { id: otherServerId, organizationId: world.organizationId, name: 'other', publicKey: new Uint8Array(32) },
    }),
  );
  staging = await world.addEnvironment(delta.appId, { name: 'Staging' }, { serverIds: [otherServerId] });
  const rows = await world.tenant(({ tx }) => tx.environment.findMany());
  production = rows.find(({ id }) => id !== staging)?.id ?? '';
  await recordTraffic([
    { appId: alpha.appId, requests: 5, errors: 0, latencyUs: 900_000 },
    { appId: bravo.appId, requests: 20, errors: 7, latencyUs: 1000 },
  ]);
});
afterAll(() => db.drop());

interface TrafficOfApp {
  readonly appId: string;
  readonly requests: number;
  readonly errors: number;
  readonly latencyUs: number;
}

async function recordTraffic(apps: readonly TrafficOfApp[]): Promise<void> {
  const nowMs = world.clock.now().getTime();
  const frames = Array.from({ length: 10 }, (_, second) =>
    create(FrameSchema, {
      agentUnixMs: BigInt(nowMs - (second + 3) * 1000),
      durationMs: 1000,
      host: {},
      apps: apps.map(({ appId, requests, errors, latencyUs }) => ({
        appId,
        environmentId: production,
        requests,
        errors,
        latency: histogramToWire({
          counts: new Map([[bucketIndex(latencyUs), requests]]),
          sumUs: latencyUs * requests,
        }),
      })),
    }),
  );
  await world.system((ctx) =>
    recordFrames(forOrganization(ctx, world.organizationId), { serverId: world.serverId, frames, clockOffsetMs: 0 }),
  );
}

const list = (input: Partial<ListAppsInput> = {}, reach?: Reach) =>
  world.tenant((ctx) => listApps(ctx, { limit: 50, ...input }, testHosts, reach));
const names = async (input: Partial<ListAppsInput> = {}, reach?: Reach) =>
  (await list(input, reach)).items.map(({ name }) => name);

test('apps are sorted by name, last deployment, requests, errors and p99, in both directions', async () => {
  expect(await names()).toEqual(['Alpha', 'Bravo', 'Charlie', 'Delta']);
  expect(await names({ order: 'desc' })).toEqual(['Delta', 'Charlie', 'Bravo', 'Alpha']);
  expect(await names({ sort: 'last_deployment' })).toEqual(['Delta', 'Bravo', 'Alpha', 'Charlie']);
  expect(await names({ sort: 'last_deployment', order: 'asc' })).toEqual(['Alpha', 'Bravo', 'Delta', 'Charlie']);
  expect(await names({ sort: 'requests' })).toEqual(['Bravo', 'Alpha', 'Charlie', 'Delta']);
  expect(await names({ sort: 'errors' })).toEqual(['Bravo', 'Alpha', 'Charlie', 'Delta']);
  expect(await names({ sort: 'p99' })).toEqual(['Alpha', 'Bravo', 'Charlie', 'Delta']);
  expect(await names({ sort: 'p99', order: 'asc' })).toEqual(['Bravo', 'Alpha', 'Charlie', 'Delta']);
});

test('filters combine, and the count covers every page', async () => {
  expect(await names({ state: 'deploying' })).toEqual(['Bravo']);
  expect(await names({ state: 'not_deployed' })).toEqual(['Charlie']);
  expect(await names({ branch: 'next' })).toEqual(['Bravo']);
  expect(await names({ search: 'ALPHA.example' })).toEqual(['Alpha']);
  expect(await names({ serverId: otherServerId })).toEqual(['Delta']);
  expect(await names({ serverId: world.serverId, state: 'not_deployed', sort: 'p99' })).toEqual(['Charlie']);
  expect(await names({ search: 'alpha', state: 'deploying' })).toEqual([]);
  const [shown] = (await list({ environmentId: staging })).items;
  expect(shown).toMatchObject({ name: 'Delta', environmentName: 'Staging', isPrimary: false, serverName: 'other' });
  expect(await names({ search: shown?.id ?? '' })).toEqual(['Delta']);
  expect(await list({ search: 'a', limit: 1 })).toMatchObject({ total: 4, items: [{ name: 'Alpha' }] });
  expect(await list({ state: 'failed' })).toEqual({ items: [], nextCursor: null, total: 0 });
});

test.each([undefined, 'p99', 'last_deployment'] as const)('pages by %s hold each app once', async (sort) => {
  const order = sort === undefined ? {} : { sort };
  const whole = await names(order);
  const seen: string[] = [];
  let cursor: string | null = null;
  do {
    const page: Awaited<ReturnType<typeof list>> = await list({ ...order, limit: 1, cursor });
    expect(page.total).toBe(cursor === null ? 4 : null);
    seen.push(...page.items.map(({ name }) => name));
    cursor = page.nextCursor;
  } while (cursor !== null);
  expect(seen).toEqual(whole);
  expect(await names({ ...order, cursor: "1' OR true" })).toEqual(sort === undefined ? whole : []);
});

test('apps that need attention are filtered, sorted, counted and paged as all others', async () => {
  const all = (await list()).items;
  const ids = all.filter(({ name }) => name !== 'Alpha').map(({ id }) => id);
  const some = (input: Partial<ListAppsInput>) =>
    world.tenant((ctx) => listApps(ctx, { limit: 50, ...input }, testHosts, undefined, ids));
  for (const sort of ['name', 'p99'] as const) {
    const first = await some({ sort, limit: 2 });
    expect(first).toMatchObject({ items: [{ name: 'Bravo' }, { name: 'Charlie' }], total: 3 });
    const { items } = await some({ sort, limit: 2, cursor: first.nextCursor });
    expect(items.map(({ name }) => name)).toEqual(['Delta']);
  }
  expect(await some({ state: 'deploying' })).toMatchObject({ items: [{ name: 'Bravo' }], total: 1 });
  expect(await some({ search: 'alpha' })).toMatchObject({ items: [], total: 0 });
});

test('a reader of one environment finds and counts only what runs there', async () => {
  const reach: Reach = { everywhere: false, projectIds: [], environmentIds: [staging] };
  expect(await list({}, reach)).toMatchObject({ total: 1, items: [{ name: 'Delta', environmentId: staging }] });
  expect(await list({ sort: 'p99' }, reach)).toMatchObject({ total: 1, items: [{ environmentId: staging }] });
  expect(await names({ state: 'deploying' }, reach)).toEqual([]);
  expect(await list({ serverId: world.serverId }, reach)).toMatchObject({ total: 0, items: [] });
  expect(await list({ search: 'alpha', sort: 'errors' }, reach)).toMatchObject({ total: 0, items: [] });
});

test('another organization finds nothing by the ids of this one', async () => {
  const rival = await testWorld(db.database, 'rival');
  const foreign = (input: Partial<ListAppsInput>) =>
    rival.tenant((ctx) => listApps(ctx, { limit: 50, ...input }, testHosts));
  for (const input of [{ serverId: world.serverId }, { environmentId: staging }, { sort: 'p99' } as const]) {
    expect(await foreign(input)).toEqual({ items: [], nextCursor: null, total: 0 });
  }
});
