// Tests a distributed run: agents in networks of their own load the app on another server.
import type { AppId, RunId, ServerId } from '@fairlead/contract/ids';
import {
  type BenchmarkDetail,
  benchmarkPlanSchema,
  cancelBenchmark,
  failOverdueBenchmarks,
} from '@fairlead/core/benchmark';
import { systemClock } from '@fairlead/core/kernel';
import { closeSession } from '@fairlead/core/server';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { waitFor } from '../../tools/lib/wait.ts';
import { COUNTING_APP } from './harness/apps.ts';
import { silentLog } from './harness/assemble.ts';
import { type Fleet, type FleetServer, openFleet } from './harness/fleet.ts';
import { System } from './harness/system.ts';

const HOST = 'counting.localhost';
/** Longer than a server of a run may be disconnected. */
const DISCONNECTED_MS = 20_000;
const FINISHED = new Set(['succeeded', 'failed', 'cancelled']);

let system: System;
let fleet: Fleet;
/** Server of the app, and the two that send requests. */
let home: FleetServer;
let east: FleetServer;
let west: FleetServer;
let appId: AppId;

beforeAll(async () => {
  system = await System.start();
  fleet = await openFleet(system);
  home = await fleet.addServer('home');
  const repository = await system.repositories.create('counting', COUNTING_APP);
  const url = fleet.repositoryUrl(repository.url);
  const deploying = await system.beginApp('counting', { url }, '', home.id);
  [east, west] = await Promise.all([fleet.addServer('east'), fleet.addServer('west')]);
  const deployed = await system.waitForDeployment(deploying);
  expect(deployed).toMatchObject({ state: 'live', failureMessage: null });
  appId = (await system.app('counting')).id;
}, 240_000);
afterAll(async () => {
  await fleet?.close();
  await system?.stop();
});

const base = { targets: ['proxy'], protocols: ['http1'], concurrency: [5], repeats: 1, durationMs: 1000, warmupMs: 0 };
const start = async (changes: object): Promise<RunId> => {
  const plan = benchmarkPlanSchema.parse({ ...base, ...changes });
  const { runId } = await system.product.verbs.createBenchmark({ appId, plan, loadServerIds: [east.id, west.id] });
  return runId;
};
const get = (runId: RunId) => system.product.verbs.getBenchmark({ runId });
const ended = (runId: RunId): Promise<BenchmarkDetail> =>
  waitFor(
    async () => {
      const run = await get(runId);
      return FINISHED.has(run.state) ? run : undefined;
    },
    { what: `the end of ${runId}`, timeoutMs: 240_000, everyMs: 250 },
  );
/** Requests for a path that the app has counted. */
async function countOf(path: string): Promise<number> {
  const { body } = await home.get(HOST, '/counts');
  return (JSON.parse(body) as Record<string, number>)[`GET ${path}  0`] ?? 0;
}

/** Closes the session of a silent server, as the gateway does, then fails its overdue runs, as the worker does. */
async function loseServer(serverId: ServerId): Promise<void> {
  await system.product.database.system('a lost server', async (tx) => {
    const { connectedGateway } = await tx.server.findUniqueOrThrow({ where: { id: serverId } });
    await closeSession({ tx, clock: systemClock, log: silentLog }, { serverId, connection: connectedGateway ?? '' });
  });
  const later = { now: () => new Date(Date.now() + DISCONNECTED_MS) };
  await system.product.database.system('a lost server', (tx) =>
    failOverdueBenchmarks({ tx, clock: later, log: silentLog }),
  );
}

test('two servers load one app as one run: each row is their sum, in the same window', {
  timeout: 300_000,
}, async () => {
  const protocols = ['http1', 'http2', 'http3'];
  const run = await ended(await start({ path: '/shared', protocols, requestsPerSecond: 100 }));
  expect(run).toMatchObject({ state: 'succeeded', failureMessage: null, rowsDone: 3 });
  expect(run.servers).toMatchObject([
    { serverId: home.id, role: 'measure' },
    { serverId: east.id, role: 'load', clockOffsetUs: expect.any(Number), clockUncertaintyUs: expect.any(Number) },
    { serverId: west.id, role: 'load', clockOffsetUs: expect.any(Number), clockUncertaintyUs: expect.any(Number) },
  ]);
  expect(run.rows.map(({ protocol }) => protocol).toSorted()).toEqual(protocols);
  for (const row of run.rows) {
    expect(row).toMatchObject({ networkPath: 'between-servers', concurrency: 5, clients: 5, errors: 0 });
    const [own, ...loads] = row.parts;
    expect(own).toMatchObject({ serverId: home.id, requests: 0 });
    expect(loads.map(({ serverId, concurrency }) => [serverId, concurrency])).toEqual([
      [east.id, 3],
      [west.id, 2],
    ]);
    expect(loads.every(({ requests }) => requests > 0)).toBe(true);
    expect(loads.reduce((sum, { requests }) => sum + requests, 0)).toBe(row.requests);
    // The windows overlap: no start is a whole window away from another.
    const starts = row.parts.map(({ startOffsetUs }) => startOffsetUs);
    expect(Math.max(...starts) - Math.min(...starts)).toBeLessThan(base.durationMs * 1000);
    expect(row.cpuUsPerRequest).toBeGreaterThan(0);
  }
  // Each client opens each row with one request, which does not count.
  const counted = run.rows.reduce((sum, { requests }) => sum + requests, 0);
  expect(await countOf('/shared')).toBe(counted + 3 * 5);
});

test('a cancel stops all servers, and they are free for the next run', { timeout: 300_000 }, async () => {
  const runId = await start({ path: '/endless', repeats: 9, durationMs: 30_000 });
  await waitFor(async () => (await countOf('/endless')) > 100 || undefined, {
    what: 'load of both servers',
    timeoutMs: 60_000,
  });
  await system.asSystem((ctx) => cancelBenchmark(ctx, { runId }));
  let last = -1;
  await waitFor(
    async () => {
      const before = last;
      last = await countOf('/endless');
      return last === before || undefined;
    },
    { what: 'the end of the load', timeoutMs: 20_000, everyMs: 1000 },
  );
  expect(await get(runId)).toMatchObject({ state: 'cancelled' });
  const next = await ended(await start({ path: '/next', requestsPerSecond: 50, durationMs: 500 }));
  expect(next).toMatchObject({ state: 'succeeded', failureMessage: null });
  // Nothing was sent meanwhile.
  expect(await countOf('/endless')).toBe(last);
});

test('a load server that is lost ends the run, which names it', { timeout: 300_000 }, async () => {
  const runId = await start({ path: '/lost', repeats: 9, durationMs: 1000, requestsPerSecond: 50 });
  await waitFor(async () => (await get(runId)).rowsDone > 0 || undefined, { what: 'a row', timeoutMs: 60_000 });
  await west.namespace.cut();
  await loseServer(west.id);
  const run = await ended(runId);
  await west.namespace.mend();
  expect(run).toMatchObject({ state: 'failed', failureCode: 'benchmark.load_server_failed' });
  expect(run.failureMessage).toContain('west: ');
  expect(run.rows.every(({ parts }) => parts.length === 3)).toBe(true);
});
