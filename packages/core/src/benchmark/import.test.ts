// Import of runs: what is stored, what is refused and where, and that an imported run is never one of ours.
import type { AppId, RunId } from '@fairlead/contract/ids';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { auditEventsOf, importableDocument, type TestWorld, testWorld } from '../testing/index.ts';
import {
  exportBenchmark,
  getBenchmark,
  importBenchmark,
  importBenchmarkInputSchema,
  listBenchmarks,
  readBenchmarkDocument,
} from './index.ts';

let db: TestDatabase;
let world: TestWorld;
let appId: AppId;

beforeAll(async () => {
  db = await testDatabase();
  world = await testWorld(db.database);
  ({ appId } = await world.createApp('Shop', { host: 'shop.example.test' }));
});
afterAll(() => db.drop());

const run = (document: unknown) =>
  world.tenant((ctx) => importBenchmark(ctx, importBenchmarkInputSchema.parse({ appId, document })));
const get = (runId: RunId) => world.tenant((ctx) => getBenchmark(ctx, { runId }));
const errorsOf = (document: unknown) => {
  const { error } = importBenchmarkInputSchema.safeParse({ appId: 'app_1', document });
  return Object.fromEntries(error?.issues.map(({ path, message }) => [path.join('.'), message]) ?? []);
};

test('an imported run keeps its rows and the facts of its origin, and has no server', async () => {
  const { runId, isNew } = await run(importableDocument());
  expect(isNew).toBe(true);
  const imported = await get(runId);
  expect(imported).toMatchObject({
    state: 'succeeded',
    serverId: null,
    serverName: null,
    origin: { runId: 'run_elsewhere', createdAt: '2026-03-01T03:00:00.000Z' },
    facts: { release: { number: 7 }, machine: { cpuCount: 4 } },
    bestRequestsPerSecond: 2000,
  });
  expect(imported.rows).toMatchObject([
    { target: 'proxy', requests: 4000, p99Ms: 0.02, cpuUsPerRequest: 30 },
    { target: 'direct', requests: 4000, cpuUsPerRequest: null },
  ]);
  expect((await auditEventsOf(world)).at(-1)).toMatchObject({ action: 'benchmark.import', targetId: runId });
});

test('the same content is imported once, in any format', async () => {
  const { runId } = await run(importableDocument());
  const exported = await world.tenant((ctx) => exportBenchmark(ctx, { runId }));
  expect(exported).toMatchObject({ format: 'fairlead-benchmark-2', runId: 'run_elsewhere' });
  expect(await run(exported)).toEqual({ runId, isNew: false });
  expect(await run(readBenchmarkDocument(importableDocument()))).toEqual({ runId, isNew: false });
  const another = await run(importableDocument({ createdAt: '2026-03-02T03:00:00.000Z' }));
  expect(another.isNew).toBe(true);
});

test('an imported plan has no query, so the document of an older version is the same run', async () => {
  const document = readBenchmarkDocument(importableDocument({ createdAt: '2026-06-01T03:00:00.000Z' }));
  const withPath = (path: string) => ({ ...document, plan: { ...document.plan, path } });
  const { runId } = await run(withPath('/search?q=canary'));
  const stored = await world.tenant(({ tx }) => tx.benchmarkRun.findFirstOrThrow({ where: { id: runId } }));
  expect(stored.plan).toMatchObject({ path: '/search?[redacted]' });
  expect(await run(withPath('/search?[redacted]'))).toEqual({ runId, isNew: false });
});

test('the same content in another environment is a run of its own', async () => {
  const first = await run(importableDocument());
  const environmentId = await world.addEnvironment(appId, { name: 'Staging' });
  const document = importableDocument();
  const other = await world.tenant((ctx) =>
    importBenchmark(ctx, importBenchmarkInputSchema.parse({ appId, environmentId, document })),
  );
  expect(other.isNew).toBe(true);
  expect(other.runId).not.toBe(first.runId);
});

test('a run from a terminal has a machine and no release', async () => {
  const { facts, ...document } = readBenchmarkDocument(importableDocument());
  const terminal = { ...document, facts: facts === null ? null : { ...facts, release: null, configNumber: null } };
  const { runId } = await run({ ...terminal, createdAt: '2026-05-01T03:00:00.000Z' });
  expect(await get(runId)).toMatchObject({ facts: { release: null, configNumber: null, machine: { cpuCount: 4 } } });
});

test('probes and noise of rows survive import and export', async () => {
  const document = readBenchmarkDocument(importableDocument({ createdAt: '2026-05-01T03:00:00.000Z' }));
  const noise = { machineCpuUs: 4_000_000, otherCpuUs: null, stealUs: 20_000, frequencyMhz: 2400 };
  const rows = document.rows.map((row) => ({ ...row, scenario: 'latency probes', probe: 'sse', noise }));
  const latency = { ...document, plan: { ...document.plan, scenario: 'latency', upstream: 'lab' }, rows };
  const { runId } = await run(latency);
  expect((await get(runId)).rows).toMatchObject(rows.map(() => ({ probe: 'sse', noise })));
  const exported = await world.tenant((ctx) => exportBenchmark(ctx, { runId }));
  expect(exported.rows).toMatchObject(rows.map(() => ({ probe: 'sse', noise })));
  const without = latency.rows.map((row, at) => (at === 1 ? { ...row, probe: null } : row));
  expect(Object.keys(errorsOf({ ...latency, rows: without }))).toEqual(['document.rows.1.probe']);
});

test('simultaneous imports of one document make one run', async () => {
  const document = importableDocument({ createdAt: '2026-04-01T03:00:00.000Z' });
  const results = await Promise.all([run(document), run(document), run(document)]);
  expect(new Set(results.map(({ runId }) => runId)).size).toBe(1);
  expect(results.filter(({ isNew }) => isNew)).toHaveLength(1);
});

test('a filter by server leaves imported runs out', async () => {
  const { serverId } = world;
  const { items } = await world.tenant((ctx) => listBenchmarks(ctx, { limit: 10, serverId }));
  expect(items).toEqual([]);
});

test('errors name their path in the document', () => {
  const [proxy, direct] = importableDocument().rows;
  const withRow = (changes: object) => importableDocument({ rows: [{ ...proxy, ...changes }, direct] });
  expect(errorsOf(importableDocument({ state: 'failed' }))).toEqual({
    'document.state': 'Only a run that succeeded can be imported.',
  });
  expect(errorsOf(importableDocument({ rows: [] }))).toEqual({ 'document.rows': 'The run has no rows.' });
  expect(Object.keys(errorsOf(withRow({ requests: -1 })))).toEqual(['document.rows.0.requests']);
  expect(Object.keys(errorsOf(withRow({ position: 1 })))).toEqual(['document.rows.1.position']);
  expect(Object.keys(errorsOf(withRow({ concurrency: 3_000_000_000 })))).toEqual(['document.rows.0.concurrency']);
  expect(Object.keys(errorsOf(withRow({ clients: 2_147_483_648 })))).toEqual(['document.rows.0.clients']);
  expect(Object.keys(errorsOf(withRow({ appConnections: 2_147_483_648 })))).toEqual(['document.rows.0.appConnections']);
  expect(Object.keys(errorsOf(withRow({ target: 'nginx' })))).toEqual(['document.rows.0.target']);
  expect(Object.keys(errorsOf(withRow({ round: 50 })))).toEqual(['document.rows.0.round']);
  const many = Array.from({ length: 400 }, (_, position) => ({ ...proxy, position }));
  expect(Object.keys(errorsOf(importableDocument({ rows: many })))).toContain('document.rows');
  const buckets = (...all: number[][]) => withRow({ latency: { sumUs: 1, buckets: all } });
  expect(Object.keys(errorsOf(buckets([20, 21, 1], [64, 65, 1])))).toEqual(['document.rows.0.latency.buckets.1']);
  expect(Object.keys(errorsOf(buckets([20, 21, 1], [20, 21, 1])))).toEqual(['document.rows.0.latency.buckets.1']);
  expect(Object.keys(errorsOf({ format: 'something-else' }))).toEqual(['document.format']);
  expect(Object.keys(errorsOf(null))).toEqual(['document']);
});

test('a run of a script is refused, because it is none of the dashboard', () => {
  const script = { ...readBenchmarkDocument(importableDocument()), runId: null, plan: null };
  expect(errorsOf(script)).toEqual({
    'document.runId': 'Only a run of the dashboard can be imported, and this is none.',
  });
});
