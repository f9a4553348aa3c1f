// Filters, order, pages, counts and plans of the list of deployments, also for a reader who may see a part of them.
import { type AppId, type EnvironmentId, newId } from '@fairlead/contract/ids';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Reach } from '../role/index.ts';
import { type TestWorld, testWorld } from '../testing/index.ts';
import { type ListDeploymentsInput, listDeploymentFilters, listDeployments } from './index.ts';

let db: TestDatabase;
let world: TestWorld;
let shop: AppId;
let staging: EnvironmentId;
let production: EnvironmentId;
let ada: string;
let hour = 0;

const start = new Date('2026-03-01T00:00:00Z');
const at = (hours: number) => new Date(start.getTime() + hours * 3_600_000);

beforeAll(async () => {
  db = await testDatabase();
  world = await testWorld(db.database);
  shop = (await world.createApp('Shop', { deployNow: false })).appId;
  const blog = (await world.createApp('Blog', { deployNow: false })).appId;
  staging = await world.addEnvironment(shop, { name: 'Staging' });
  const environments = await world.tenant(({ tx }) => tx.environment.findMany());
  production = environments.find(({ id }) => id !== staging)?.id as EnvironmentId;
  ada = newId('usr');
  await world.system(async ({ tx }) => {
    await tx.user.create({ data: { id: ada, name: 'Ada', email: 'ada@example.test' } });
    await tx.member.create({
      data: { id: newId('mem'), organizationId: world.organizationId, userId: ada, role: 'developer' },
    });
  });
  await insert(shop, production, { number: 1, ref: 'main', state: 'live', commitSubject: 'Add cart' });
  await insert(shop, staging, { number: 2, ref: 'next', state: 'failed', requestedByUserId: ada });
  await insert(blog, production, { number: 1, ref: 'main', state: 'failed', commitHash: `abc${'0'.repeat(37)}` });
  await insert(blog, production, { number: 12, ref: 'main', state: 'live', buildServerId: world.serverId });
});
afterAll(() => db.drop());

async function insert(appId: AppId, environmentId: EnvironmentId, row: Record<string, unknown>): Promise<void> {
  hour += 1;
  const { organizationId } = world;
  const common = { id: newId('dep'), organizationId, appId, environmentId, trigger: 'manual', queuedAt: at(hour) };
  await world.system(({ tx }) =>
    tx.deployment.create({ data: { ...common, number: 0, state: 'live', ref: 'main', ...row } }),
  );
}

const list = (input: Partial<ListDeploymentsInput> = {}, reach?: Reach) =>
  world.tenant((ctx) => listDeployments(ctx, { limit: 50, ...input }, reach));
const found = async (input: Partial<ListDeploymentsInput>, reach?: Reach) =>
  (await list(input, reach)).items.map(({ appName, number }) => `${appName} #${number}`);

test('each filter finds its deployments', async () => {
  expect(await found({})).toEqual(['Blog #12', 'Blog #1', 'Shop #2', 'Shop #1']);
  expect(await found({ order: 'oldest' })).toEqual(['Shop #1', 'Shop #2', 'Blog #1', 'Blog #12']);
  expect(await found({ branch: 'next' })).toEqual(['Shop #2']);
  expect(await found({ requestedBy: ada })).toEqual(['Shop #2']);
  expect(await found({ serverId: world.serverId })).toEqual(['Blog #12']);
  expect(await found({ from: at(2), to: at(4) })).toEqual(['Blog #1', 'Shop #2']);
  expect(await found({ search: 'CART' })).toEqual(['Shop #1']);
  expect(await found({ search: 'blog' })).toEqual(['Blog #12', 'Blog #1']);
  expect(await found({ search: 'ABC00' })).toEqual(['Blog #1']);
  expect(await found({ search: '#12' })).toEqual(['Blog #12']);
  expect(await found({ search: '%' })).toEqual([]);
});

test('filters combine, and the count covers every page', async () => {
  expect(await found({ state: 'failed', branch: 'main' })).toEqual(['Blog #1']);
  expect(await found({ appId: shop, environmentId: staging, state: 'failed', search: 'next' })).toEqual(['Shop #2']);
  expect(await found({ state: 'live', requestedBy: ada })).toEqual([]);
  for (const order of ['newest', 'oldest'] as const) {
    const first = await list({ limit: 1, state: 'failed', order });
    const second = await list({ limit: 1, state: 'failed', order, cursor: first.nextCursor });
    expect([first.total, second.total, second.nextCursor]).toEqual([2, null, null]);
    expect(first.items[0]?.id).not.toBe(second.items[0]?.id);
  }
});

test('a build that waits for another is found as queued, as its label says, and is counted so', async () => {
  const { organizationId } = world;
  const build = { state: 'building', ref: 'builds', buildServerId: world.serverId };
  const first = newId('dep');
  await insert(shop, production, { ...build, id: first, number: 21 });
  await insert(shop, staging, { ...build, number: 22 });
  await insert(shop, production, { state: 'queued', ref: 'builds', number: 23 });
  await world.system(({ tx }) =>
    tx.deploymentStep.create({
      data: {
        id: newId('stp'),
        organizationId,
        deploymentId: first,
        name: 'clone',
        position: 1,
        state: 'running',
        startedAt: start,
      },
    }),
  );
  const numbers = async (state: ListDeploymentsInput['state']) => {
    const { items, total } = await list({ state, branch: 'builds' });
    return [items.map(({ number, awaitsBuild }) => [number, awaitsBuild]), total];
  };
  expect(await numbers('building')).toEqual([[[21, false]], 1]);
  expect(await numbers('queued')).toEqual([
    [
      [23, false],
      [22, true],
    ],
    2,
  ]);
  await world.system(({ tx }) => tx.deployment.deleteMany({ where: { organizationId, ref: 'builds' } }));
});

test('a reader of one environment finds, counts and is offered only what is there', async () => {
  const reach: Reach = { everywhere: false, projectIds: [], environmentIds: [staging] };
  expect(await list({}, reach)).toMatchObject({ total: 1, items: [{ environmentId: staging }] });
  expect(await list({ search: 'cart' }, reach)).toMatchObject({ total: 0, items: [] });
  expect(await list({ branch: 'main' }, reach)).toMatchObject({ total: 0, items: [] });
  expect(await list({ environmentId: production }, reach)).toMatchObject({ total: 0, items: [] });
  expect(await world.tenant((ctx) => listDeploymentFilters(ctx, reach))).toEqual({
    branches: ['next'],
    authors: [{ id: ada, name: 'Ada' }],
  });
  const { branches } = await world.tenant((ctx) => listDeploymentFilters(ctx));
  expect(branches).toEqual(['main', 'next']);
});

test('another organization finds nothing by the ids of this one', async () => {
  const rival = await testWorld(db.database, 'rival');
  for (const input of [{ requestedBy: ada }, { serverId: world.serverId }, { appId: shop }, { search: 'cart' }]) {
    const page = await rival.tenant((ctx) => listDeployments(ctx, { limit: 50, ...input }));
    expect(page).toEqual({ items: [], nextCursor: null, total: 0 });
  }
  expect(await rival.tenant((ctx) => listDeploymentFilters(ctx))).toEqual({ branches: [], authors: [] });
});

test('branch, server and each state have an index under row-level security', async () => {
  const { organizationId } = world;
  // Enough rows that the planner distinguishes indexes.
  await world.system(
    ({ tx }) =>
      tx.$executeRaw`
      INSERT INTO deployment (id, organization_id, app_id, environment_id, number, trigger, state, ref, queued_at, requested_by_user_id, build_server_id)
      SELECT 'dep_many' || n, ${organizationId}, ${shop}, ${production}, 100 + n, 'manual', 'live', 'branch-' || n,
             timestamptz '2020-01-01' + n * interval '1 hour', 'usr_' || n, 'srv_' || n
      FROM generate_series(1, 1000) AS n`,
  );
  await db.asOwner('ANALYZE deployment');
  const byState = 'deployment_organization_id_state_queued_at_id_idx';
  const indexes = [
    ["state = 'failed'", byState],
    ["state IN ('queued', 'building')", 'deployment_unfinished'],
    ["ref = 'branch-1'", 'deployment_organization_id_ref_queued_at_id_idx'],
    ["build_server_id = 'srv_1'", 'deployment_organization_id_build_server_id_idx'],
  ] as const;
  for (const [condition, index] of indexes) {
    const plan = await world.tenant(({ tx }) =>
      tx.$queryRawUnsafe<{ 'QUERY PLAN': string }[]>(
        `EXPLAIN SELECT id FROM deployment WHERE organization_id = $1 AND ${condition}`,
        organizationId,
      ),
    );
    expect(plan.map((line) => line['QUERY PLAN']).join('\n'), condition).toContain(index);
  }
});
