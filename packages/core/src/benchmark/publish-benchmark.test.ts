// Published runs: what strangers get, when it ends, and that it is a redacted copy.
import { encodeHistogram } from '@fairlead/contract/histogram';
import { type AppId, newId, type RunId } from '@fairlead/contract/ids';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { deleteApp, purgeDeletedApp, restoreApp } from '../app/index.ts';
import { retention } from '../kernel/index.ts';
import { auditEventsOf, importableDocument, type TestWorld, testWorld } from '../testing/index.ts';
import {
  deleteBenchmark,
  exportBenchmark,
  findReport,
  getBenchmark,
  getReport,
  importBenchmark,
  importBenchmarkInputSchema,
  previewReport,
  pruneBenchmarks,
  publishBenchmark,
  readReportDocument,
  unpublishBenchmark,
} from './index.ts';
import { canariesIn } from './redaction.testing.ts';

let db: TestDatabase;
let world: TestWorld;
let appId: AppId;
let runId: RunId;
let count = 0;

beforeAll(async () => {
  db = await testDatabase();
});
afterAll(() => db.drop());
beforeEach(async () => {
  count += 1;
  world = await testWorld(db.database, `acme-${count}`);
  ({ appId } = await world.createApp('Canary shop', { host: `canary-${count}.example.com`, deployNow: false }));
  runId = await addRun();
});

async function addRun(state = 'succeeded', rows = 2): Promise<RunId> {
  const id = newId('run');
  const { organizationId, serverId } = world;
  await world.system(async ({ tx, clock }) => {
    const { environmentId } = await tx.placement.findFirstOrThrow({ where: { appId } });
    const machine = { os: 'Debian canary', kernel: '6.12.1-canary', arch: 'x64', cpuCount: 2, memoryBytes: 8e9 };
    const release = { id: newId('rel'), number: 1, commitHash: 'canary' };
    const facts = { release, configNumber: 0, agentVersion: '0.1.0', machine, endReleaseNumber: 1 };
    const request = { method: 'POST', path: '/canary?canary', headers: { 'X-Canary': 'canary' }, body: 'canary' };
    const plan = {
      host: 'canary.example.com',
      path: '/canary?q=canary',
      concurrency: [8],
      load: { requests: [request] },
    };
    await tx.benchmarkRun.create({
      data: { id, organizationId, appId, environmentId, serverId, state, plan, facts, createdAt: clock.now() },
    });
    const latency = encodeHistogram({ counts: new Map([[40, 900]]), sumUs: 60_000 });
    await tx.benchmarkRow.createMany({
      data: Array.from({ length: rows }, (_, position) => ({
        ...{ id: newId('row'), organizationId, runId: id, position, round: 0, protocol: 'http1', concurrency: 8 },
        ...{ target: position === 0 ? 'proxy' : 'direct', networkPath: 'own-network', durationMs: 1000, latency },
        ...{ requests: 900n, errors: 0n, proxyCpuUs: 900n, proxyMemoryBytes: 1n, bytesReceived: 9n },
      })),
    });
  });
  return id;
}

test('a run and its export show no query, no value of a header and no body', async () => {
  const { plan } = await world.tenant((ctx) => getBenchmark(ctx, { runId }));
  const document = await world.tenant((ctx) => exportBenchmark(ctx, { runId }));
  const request = { method: 'POST', path: '/canary?[redacted]', headers: { 'X-Canary': '[redacted]' }, weight: 1 };
  expect(plan.load.requests).toEqual([{ ...request, body: '[redacted: 6 bytes]' }]);
  expect(plan.path).toBe('/canary?[redacted]');
  expect(document).toMatchObject({ plan, title: 'Benchmark of canary.example.com/canary?[redacted]' });
  expect(document.method).toEqual(['Methods of the load: POST 100 %.']);
});

const publish = (isIndexed = false) => world.tenant((ctx) => publishBenchmark(ctx, { runId, isIndexed }));
const unpublish = () => world.tenant((ctx) => unpublishBenchmark(ctx, { runId }));
const found = (reportId: string) =>
  world.system(async (ctx) => {
    const report = await findReport(ctx, { reportId });
    return report === null ? null : { ...report, document: await readReportDocument(ctx, report) };
  });
const stateOf = () => world.tenant((ctx) => getReport(ctx, { runId }));

test('strangers get the redacted document, until it is unpublished', async () => {
  expect(await stateOf()).toBeNull();
  const { reportId } = await publish();
  expect(await stateOf()).toMatchObject({ id: reportId, isIndexed: false });
  const report = await found(reportId);
  expect(report?.document).toMatchObject({ title: 'Benchmark of app.example', runId: null, plan: null });
  expect(report?.document.rows).toHaveLength(2);
  expect(canariesIn(JSON.stringify(report).toLowerCase())).toEqual([]);
  await unpublish();
  expect([await found(reportId), await stateOf()]).toEqual([null, null]);
  await expect(unpublish()).rejects.toMatchObject({ code: 'benchmark.not_published' });
  const { reportId: next } = await publish();
  expect(next).not.toBe(reportId);
});

test('an imported run says so in its report', async () => {
  const input = importBenchmarkInputSchema.parse({ appId, document: importableDocument() });
  const imported = await world.tenant((ctx) => importBenchmark(ctx, input));
  const { reportId } = await world.tenant((ctx) => publishBenchmark(ctx, { runId: imported.runId, isIndexed: false }));
  expect((await found(reportId))?.document.method).toEqual([
    'This run was imported: this installation did not measure it.',
  ]);
});

test('a published run is not deleted', async () => {
  await publish();
  const deletion = () => world.tenant((ctx) => deleteBenchmark(ctx, { runId }));
  await expect(deletion()).rejects.toMatchObject({ code: 'benchmark.published' });
  await unpublish();
  expect(await deletion()).toEqual({ runId });
});

test('the preview shows the facts of the public document', async () => {
  expect(await world.tenant((ctx) => previewReport(ctx, { runId }))).toMatchObject({
    ...{ title: 'Benchmark of app.example', rows: 2, targets: ['Fairlead', 'Direct'], agentVersion: '0.1.0' },
    machine: { os: 'Debian', kernel: '6.12.1', arch: 'x64' },
  });
});

test('a later change of the run does not reach the report, and publishing again keeps the address', async () => {
  const { reportId } = await publish();
  await world.system(({ tx }) => tx.benchmarkRow.deleteMany({ where: { runId, position: 1 } }));
  expect((await found(reportId))?.document.rows).toHaveLength(2);
  expect(await publish(true)).toEqual({ reportId });
  expect(await found(reportId)).toMatchObject({ isIndexed: true });
  expect((await found(reportId))?.document.rows).toHaveLength(1);
});

test('publishing and unpublishing are in the audit log', async () => {
  await publish(true);
  await unpublish();
  const events = (await auditEventsOf(world)).filter(({ action }) => action.endsWith('publish'));
  expect(events).toMatchObject([
    { action: 'benchmark.publish', after: { published: true, isIndexed: true, rows: 2 } },
    { action: 'benchmark.unpublish', after: { published: false } },
  ]);
});

test('only a finished run with results is published', async () => {
  for (const id of [await addRun('running'), await addRun('queued', 0), await addRun('failed', 0)]) {
    const outcome = world.tenant((ctx) => publishBenchmark(ctx, { runId: id, isIndexed: false }));
    await expect(outcome).rejects.toMatchObject({ code: 'benchmark.not_publishable' });
  }
  runId = await addRun('cancelled', 1);
  await publish();
});

test('a report is gone while its app is deleted, and with its run, app or organization', async () => {
  const { reportId } = await publish();
  await world.tenant((ctx) => deleteApp(ctx, { appId, confirmName: 'Canary shop' }));
  expect(await found(reportId)).toBeNull();
  await world.tenant((ctx) => restoreApp(ctx, { appId }));
  expect(await found(reportId)).not.toBeNull();
  await world.tenant((ctx) => deleteApp(ctx, { appId, confirmName: 'Canary shop' }));
  await world.tenant((ctx) => purgeDeletedApp(ctx, { appId, confirmName: 'Canary shop' }));
  expect(await found(reportId)).toBeNull();
  const left = () => world.system(({ tx }) => tx.benchmarkReport.count({ where: { id: reportId } }));
  expect(await left()).toBe(0);
});

test('the deletion of the run or of the organization deletes the report', async () => {
  const { reportId } = await publish();
  await world.system(({ tx }) => tx.benchmarkRun.delete({ where: { id: runId } }));
  expect(await found(reportId)).toBeNull();
  runId = await addRun();
  const second = await publish();
  await world.system(({ tx }) => tx.organization.delete({ where: { id: world.organizationId } }));
  expect(await found(second.reportId)).toBeNull();
});

test('retention keeps a published run', async () => {
  const { reportId } = await publish();
  const { organizationId, serverId, clock } = world;
  await world.system(async ({ tx }) => {
    const { environmentId } = await tx.placement.findFirstOrThrow({ where: { appId } });
    await tx.benchmarkRun.createMany({
      data: Array.from({ length: retention.benchmarksKept + 1 }, (_, at) => ({
        ...{ id: newId('run'), organizationId, appId, environmentId, serverId, plan: {}, state: 'succeeded' },
        createdAt: new Date(clock.now().getTime() + 1 + at),
      })),
    });
  });
  await world.system(pruneBenchmarks);
  expect(await found(reportId)).not.toBeNull();
  expect(await world.system(({ tx }) => tx.benchmarkRun.count({ where: { appId } }))).toBe(
    retention.benchmarksKept + 1,
  );
});

test('another organization can neither publish the run nor see its report, and guesses find nothing', async () => {
  const { reportId } = await publish();
  const other = await testWorld(db.database, `other-${count}`);
  const foreign = other.tenant((ctx) => publishBenchmark(ctx, { runId, isIndexed: false }));
  await expect(foreign).rejects.toMatchObject({ code: 'benchmark.not_found' });
  expect(await other.tenant((ctx) => getReport(ctx, { runId }))).toBeNull();
  for (const guess of [`${reportId}x`, reportId.toLowerCase(), '', 'rpt_%', runId]) {
    expect([guess, await found(guess)]).toEqual([guess, null]);
  }
});

test('an organization has a bounded number of reports', async () => {
  const { organizationId } = world;
  const { reportId } = await publish();
  const ids = await Promise.all(Array.from({ length: 99 }, () => addRun('succeeded', 0)));
  await world.system(({ tx, clock }) =>
    tx.benchmarkReport.createMany({
      data: ids.map((id) => ({
        ...{ id: newId('rpt'), organizationId, runId: id, appId, document: {}, isIndexed: false },
        publishedAt: clock.now(),
      })),
    }),
  );
  expect(await publish()).toEqual({ reportId });
  runId = await addRun();
  await expect(publish()).rejects.toMatchObject({ code: 'benchmark.reports_max' });
});
