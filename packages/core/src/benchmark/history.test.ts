// History of runs: search, filters, tags, note and deletion, on rows.
import { type AppId, newId, type RunId } from '@fairlead/contract/ids';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { auditEventsOf, type TestWorld, testWorld } from '../testing/index.ts';
import {
  benchmarkPlanSchema,
  cancelBenchmark,
  createBenchmark,
  deleteBenchmark,
  getBenchmark,
  type ListBenchmarksInput,
  listBenchmarkFilters,
  listBenchmarks,
  updateBenchmark,
  updateBenchmarkInputSchema,
} from './index.ts';

let db: TestDatabase;
let world: TestWorld;
let shopId: AppId;
let shopRun: RunId;
let blogRun: RunId;

const plan = benchmarkPlanSchema.parse({ repeats: 1 });

async function liveApp(name: string): Promise<AppId> {
  const app = await world.createApp(name, { host: `${name.toLowerCase()}.example.test` });
  await world.advance(app.deploymentId ?? '');
  await world.finish(app.deploymentId ?? '');
  return app.appId;
}

beforeAll(async () => {
  db = await testDatabase();
  world = await testWorld(db.database);
  shopId = await liveApp('Shop');
  const blogId = await liveApp('Blog');
  ({ runId: shopRun } = await world.tenant((ctx) => createBenchmark(ctx, { appId: shopId, plan })));
  ({ runId: blogRun } = await world.tenant((ctx) => createBenchmark(ctx, { appId: blogId, plan })));
  await world.tenant((ctx) => cancelBenchmark(ctx, { runId: blogRun }));
  await world.system(({ tx }) => tx.benchmarkRun.updateMany({ where: { id: blogRun }, data: { planName: 'Burst' } }));
  const words = { tags: ['nightly', 'TLS 1.3'], note: 'Before the new kernel: 100 %.' };
  await world.tenant((ctx) => updateBenchmark(ctx, { runId: shopRun, ...words }));
});
afterAll(() => db.drop());

const list = async (filter: Partial<ListBenchmarksInput>) => {
  const { items, total } = await world.tenant((ctx) => listBenchmarks(ctx, { limit: 10, ...filter }));
  expect(total).toBe(items.length);
  return items.map(({ id }) => id);
};

test.each([
  ['SHOP', ['shop']],
  ['blog.example', ['blog']],
  ['local', ['blog', 'shop']],
  ['tls', ['shop']],
  ['new kernel', ['shop']],
  ['100 %', ['shop']],
  ['burst', ['blog']],
  ['#1', ['blog', 'shop']],
  ['#12', []],
  ['nowhere', []],
])('a search for %s finds the runs of %j', async (search, names) => {
  const ids = new Map([
    ['shop', shopRun],
    ['blog', blogRun],
  ]);
  expect(await list({ search })).toEqual(names.map((name) => ids.get(name)));
});

test('a search finds a run by the start of its commit', async () => {
  const { facts } = await world.tenant((ctx) => getBenchmark(ctx, { runId: shopRun }));
  const start = facts?.release?.commitHash.slice(0, 8) ?? '';
  expect(await list({ search: start })).toContain(shopRun);
});

test('filters narrow the list, and tags are offered', async () => {
  expect(await list({ appId: shopId })).toEqual([shopRun]);
  expect(await list({ state: 'cancelled' })).toEqual([blogRun]);
  expect(await list({ serverId: world.serverId })).toEqual([blogRun, shopRun]);
  expect(await list({ serverId: newId('srv') })).toEqual([]);
  expect(await list({ tag: 'nightly' })).toEqual([shopRun]);
  expect(await list({ tag: 'night' })).toEqual([]);
  expect(await world.tenant((ctx) => listBenchmarkFilters(ctx))).toEqual({ tags: ['TLS 1.3', 'nightly'] });
});

test('tags and note change apart, and the audit log has both sides', async () => {
  await world.tenant((ctx) => updateBenchmark(ctx, { runId: blogRun, note: 'Slow disk.' }));
  await world.tenant((ctx) => updateBenchmark(ctx, { runId: blogRun, tags: ['disk'] }));
  const run = await world.tenant((ctx) => getBenchmark(ctx, { runId: blogRun }));
  expect(run).toMatchObject({ note: 'Slow disk.', tags: ['disk'] });
  const event = (await auditEventsOf(world)).at(-1);
  expect(event).toMatchObject({ action: 'benchmark.update', before: { tags: [] }, after: { tags: ['disk'] } });
});

test('tags are bounded, and each is named once', () => {
  const isValid = (input: object) => updateBenchmarkInputSchema.safeParse({ runId: shopRun, ...input }).success;
  expect(isValid({ tags: ['a'.repeat(30)], note: 'n'.repeat(2000) })).toBe(true);
  expect(isValid({ tags: ['a'.repeat(31)] })).toBe(false);
  expect(isValid({ tags: ['one', ' one '] })).toBe(false);
  expect(isValid({ tags: Array.from({ length: 11 }, (_, at) => `${at}`) })).toBe(false);
  expect(isValid({ tags: ['line\nbreak'] })).toBe(false);
  expect(isValid({ note: 'n'.repeat(2001) })).toBe(false);
});

test('a finished run is deleted with its rows; an active one is cancelled first', async () => {
  const { runId } = await world.tenant((ctx) => createBenchmark(ctx, { appId: shopId, plan }));
  const remove = () => world.tenant((ctx) => deleteBenchmark(ctx, { runId }));
  await expect(remove()).rejects.toMatchObject({ code: 'benchmark.not_finished' });
  await world.tenant((ctx) => cancelBenchmark(ctx, { runId }));
  await remove();
  await expect(remove()).rejects.toMatchObject({ code: 'benchmark.not_found' });
  expect((await auditEventsOf(world)).at(-1)).toMatchObject({ action: 'benchmark.delete', targetId: runId });
});
