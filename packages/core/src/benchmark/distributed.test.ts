// Tests distributed runs with simulated agents: refusals, queues of all servers, the common start, merged rows, lost servers.
import { create } from '@bufbuild/protobuf';
import {
  BenchmarkProtocol,
  BenchmarkRole,
  BenchmarkRowSchema,
  BenchmarkStatusSchema,
  BenchmarkTarget,
  ReportSchema,
  WorkState,
} from '@fairlead/contract/agent';
import { bucketIndex, histogramToWire } from '@fairlead/contract/histogram';
import { type AppId, newId, type RunId, type ServerId } from '@fairlead/contract/ids';
import { Prisma } from '@fairlead/db';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { portCheckOf } from '../host/index.ts';
import { recordReport } from '../link/index.ts';
import { type TestWorld, testWorld } from '../testing/index.ts';
import {
  benchmarkPlanSchema,
  cancelBenchmark,
  createBenchmark,
  createBenchmarkInputSchema,
  exportBenchmark,
  failOverdueBenchmarks,
  getBenchmark,
} from './index.ts';

let db: TestDatabase;
let world: TestWorld;
let appId: AppId;
let east: ServerId;
let west: ServerId;

const capabilities = [
  ...['benchmark', 'benchmark.lab', 'benchmark.load', 'benchmark.distributed', 'certificate.challenge'],
];

beforeAll(async () => {
  db = await testDatabase();
  world = await testWorld(db.database);
  const app = await world.createApp('Shop', { host: 'shop.example.test' });
  appId = app.appId;
  await world.advance(app.deploymentId ?? '');
  await world.finish(app.deploymentId ?? '');
  [east, west] = [await addServer('east'), await addServer('west')];
});
afterAll(() => db.drop());
beforeEach(async () => {
  await world.system(async ({ tx, clock }) => {
    await tx.benchmarkRun.deleteMany({});
    const now = clock.now();
    await tx.server.updateMany({
      data: {
        ...{ capabilities, connectedGateway: 'gateway#1', lastSeenAt: now, interfaceAddresses: ['10.0.0.7'] },
        ...{ clockOffsetUs: 0n, clockUncertaintyUs: 500, clockMeasuredAt: now },
      },
    });
    await tx.server.updateMany({
      where: { id: { in: [east, west] } },
      data: { interfaceAddresses: ['10.0.0.8', '172.17.0.1'] },
    });
    await tx.server.updateMany({ where: { id: west }, data: { clockOffsetUs: 7_000_000n } });
    await tx.domainHost.updateMany({ data: { state: 'ready', conflict: null } });
  });
});

async function addServer(name: string): Promise<ServerId> {
  const id = newId('srv');
  await world.system(({ tx }) =>
    tx.server.create({
      data: { id, organizationId: world.organizationId, name, publicKey: new Uint8Array(32), capabilities },
    }),
  );
  return id;
}

const plan = benchmarkPlanSchema.parse({
  ...{ targets: ['proxy'], protocols: ['http1'], concurrency: [5], repeats: 2, durationMs: 1000, warmupMs: 300 },
  requestsPerSecond: 100,
});
const refusal = (ids: ServerId[]) =>
  start(ids).then(
    () => null,
    (error: { code: string }) => error.code,
  );
const start = async (loadServerIds: ServerId[], changes: object = {}): Promise<RunId> =>
  (await world.tenant((ctx) => createBenchmark(ctx, { appId, plan: { ...plan, ...changes }, loadServerIds }))).runId;
const get = (runId: RunId) => world.tenant((ctx) => getBenchmark(ctx, { runId }));
const planOn = async (serverId: ServerId) => (await world.desired(serverId)).benchmarks;
const report = (serverId: ServerId, runId: RunId, fields: object) =>
  world.system((ctx) =>
    recordReport(ctx, {
      serverId,
      report: create(ReportSchema, {
        benchmarks: [create(BenchmarkStatusSchema, { runId, state: WorkState.RUNNING, ...fields })],
      }),
    }),
  );
const ready = async (runId: RunId, rowsReady: number) => {
  await report(world.serverId, runId, { rowsReady, httpsPort: 8443 });
  await report(east, runId, { rowsReady });
  await report(west, runId, { rowsReady });
};
const row = (position: number, concurrency: number, requests: number, startUnixUs: bigint) =>
  create(BenchmarkRowSchema, {
    ...{ position, concurrency, clients: concurrency, durationMs: 1000, requests: BigInt(requests), startUnixUs },
    ...{ target: BenchmarkTarget.PROXY, protocol: BenchmarkProtocol.HTTP1 },
    latency: histogramToWire({ counts: new Map([[bucketIndex(1000), requests]]), sumUs: requests * 1000 }),
  });
const startsOf = async () =>
  Promise.all([world.serverId, east, west].map(async (id) => (await planOn(id))[0]?.part?.startUnixUs ?? 0n));

test('a run with load servers is refused where one can not take part', async () => {
  expect(await refusal([newId('srv')])).toBe('server.not_found');
  expect(await refusal([world.serverId])).toBe('benchmark.load_server_own');
  await world.system(({ tx }) => tx.server.updateMany({ where: { id: west }, data: { connectedGateway: null } }));
  expect(await refusal([east, west])).toBe('server.not_connected');
  await world.system(({ tx }) =>
    tx.server.updateMany({
      where: { id: west },
      data: {
        connectedGateway: 'gateway#1',
        capabilities: capabilities.filter((name) => !name.endsWith('distributed')),
      },
    }),
  );
  expect(await refusal([east, west])).toBe('benchmark.unsupported');
  await world.system(({ tx }) =>
    tx.server.updateMany({
      data: { capabilities: capabilities.filter((name) => !name.endsWith('distributed')) },
    }),
  );
  await world.system(({ tx }) => tx.server.updateMany({ where: { id: { in: [east, west] } }, data: { capabilities } }));
  expect(await refusal([east, west])).toBe('benchmark.unsupported');
});

test('the server of the app must answer the port check of load servers', async () => {
  const withoutCheck = capabilities.filter((name) => name !== 'certificate.challenge');
  await world.system(({ tx }) =>
    tx.server.updateMany({ where: { id: { in: [east, west] } }, data: { capabilities: withoutCheck } }),
  );
  await start([east, west]);
  await world.system(({ tx }) =>
    tx.server.updateMany({ where: { id: world.serverId }, data: { capabilities: withoutCheck } }),
  );
  expect(await refusal([east, west])).toBe('benchmark.unsupported');
});

test('load servers send nothing to a host that may be a stranger’s', async () => {
  const host = 'shop.example.test';
  const { organizationId } = world;
  const change = (data: object) =>
    world.system(({ tx }) => tx.domainHost.updateMany({ where: { organizationId, host }, data }));
  const findings = { addresses: ['203.0.113.7'], aliases: [], challengeAlias: null, caa: null, failure: null };
  const portOf = (answer: string) => ({
    findings: { ...findings, ports: [{ address: '203.0.113.7', port: 443, answer }] },
  });
  await change({ state: 'port_taken', ...portOf('other') });
  expect(await refusal([east])).toBe('benchmark.host_unverified');
  // One server alone reaches no other machine.
  expect(await refusal([])).toBeNull();
  await change({ state: 'ready', conflict: 'claimed' });
  expect(await refusal([east])).toBe('benchmark.host_unverified');
  await change({ state: 'partial', conflict: null, ...portOf('proxy') });
  expect(await refusal([east])).toBeNull();
  await change({ state: 'pending', findings: Prisma.DbNull });
  expect(await refusal([east])).toBe('benchmark.host_unverified');
  const prove = (provenAt: Date | null) =>
    world.system(({ tx }) => tx.hostProof.updateMany({ where: { organizationId, host }, data: { provenAt } }));
  await prove(world.clock.now());
  expect(await refusal([east])).toBeNull();
  await change({ conflict: 'proven' });
  expect(await refusal([east])).toBe('benchmark.host_unverified');
  await prove(null);
});

test('a plan that load servers can not measure is refused with its field', () => {
  const fields = (changes: object, loadServerIds = [east, west]) => {
    const result = createBenchmarkInputSchema.safeParse({ appId, plan: { ...plan, ...changes }, loadServerIds });
    return result.success ? [] : result.error.issues.map(({ path }) => path.join('.'));
  };
  expect(fields({})).toEqual([]);
  expect(fields({ targets: ['proxy', 'direct'] })).toEqual(['plan.targets']);
  expect(fields({ targets: ['proxy', 'direct'] }, [])).toEqual([]);
  expect(fields({ upstream: 'lab' })).toContain('plan.targets');
  expect(fields({ scenario: 'route-change' })).toContain('plan.scenario');
  expect(fields({ concurrency: [1, 8] })).toEqual(['plan.concurrency']);
  // The ceiling of clients is that of the sum.
  expect(fields({ concurrency: [1025] })).toEqual(['plan.concurrency']);
  expect(fields({ requestsPerSecond: 1 })).toEqual(['plan.requestsPerSecond']);
  expect(fields({}, [east, east])).toEqual(['loadServerIds']);
});

test('all get ready, start at one time of their own clocks, and their parts become one row', async () => {
  const runId = await start([east, west]);
  expect(await planOn(world.serverId)).toMatchObject([{ runId, part: { role: BenchmarkRole.MEASURE, row: 0 } }]);
  // Load servers wait for the port of the app's server.
  expect([await planOn(east), await planOn(west)]).toEqual([[], []]);
  await report(world.serverId, runId, { rowsReady: 1, httpsPort: 8443 });
  const { portCheckToken } = await world.system(({ tx }) =>
    tx.organization.findUniqueOrThrow({ where: { id: world.organizationId }, select: { portCheckToken: true } }),
  );
  const check = portCheckOf(portCheckToken);
  const part = {
    ...{ role: BenchmarkRole.LOAD, addresses: ['10.0.0.7:8443'], row: 0, startUnixUs: 0n },
    checkName: check.name,
    checkAnswer: new Uint8Array(Buffer.from(check.answer, 'base64url')),
  };
  expect(await planOn(east)).toMatchObject([{ concurrency: [3], requestsPerSecond: 50, part }]);
  expect(await planOn(west)).toMatchObject([{ concurrency: [2], requestsPerSecond: 50, part }]);

  await report(east, runId, { rowsReady: 1 });
  expect(await startsOf()).toEqual([0n, 0n, 0n]);
  await report(west, runId, { rowsReady: 1 });
  const [startUs = 0n, ...others] = await startsOf();
  expect(startUs).toBeGreaterThan(BigInt(world.clock.now().getTime() + plan.warmupMs) * 1000n);
  expect(others).toEqual([startUs, startUs + 7_000_000n]);

  await report(world.serverId, runId, { rowsReady: 1, rows: [row(0, 5, 0, startUs)] });
  await report(east, runId, { rowsReady: 1, rows: [row(0, 3, 60, startUs + 400n)] });
  expect((await get(runId)).rows).toEqual([]);
  await report(west, runId, { rowsReady: 1, rows: [row(0, 2, 40, startUs + 7_000_900n)] });
  const half = await get(runId);
  expect(half).toMatchObject({
    ...{ state: 'running', rowsDone: 1, rowsTotal: 2 },
    servers: [
      { role: 'measure', clockOffsetUs: 0 },
      { name: 'east', role: 'load', clockOffsetUs: 0, clockUncertaintyUs: 500 },
      { name: 'west', role: 'load', clockOffsetUs: 7_000_000, clockUncertaintyUs: 500 },
    ],
    rows: [
      {
        ...{ requests: 100, concurrency: 5, clients: 5, networkPath: 'between-servers' },
        parts: [
          { role: 'measure' },
          { serverId: east, requests: 60, concurrency: 3, startOffsetUs: 400 },
          { serverId: west, requests: 40, concurrency: 2, startOffsetUs: 900 },
        ],
      },
    ],
  });
  expect(await planOn(west)).toMatchObject([{ part: { row: 1, startUnixUs: 0n } }]);

  await ready(runId, 2);
  const [second = 0n] = await startsOf();
  for (const id of [world.serverId, east, west]) {
    // An agent reports all its rows, and the first is stored already.
    await report(id, runId, {
      state: WorkState.SUCCEEDED,
      rowsReady: 2,
      rows: [row(0, 1, 9, second), row(1, 2, 7, second)],
    });
  }
  expect(await get(runId)).toMatchObject({ state: 'succeeded', rows: [{ requests: 100 }, { requests: 14 }] });
  expect([await planOn(world.serverId), await planOn(east)]).toEqual([[], []]);
  const document = await world.tenant((ctx) => exportBenchmark(ctx, { runId }));
  expect(document.rows[0]?.parts).toMatchObject([{ requests: 0 }, { name: 'east', requests: 60 }, { requests: 40 }]);
});

test('a run waits until all its servers are free, and those behind it wait for it', async () => {
  const first = await start([east]);
  const second = await start([east, west]);
  const third = await start([west]);
  expect((await planOn(world.serverId)).map(({ runId }) => runId)).toEqual([first]);
  // West is free, but its first run waits for the others.
  expect(await planOn(west)).toEqual([]);
  expect((await get(second)).aheadInQueue).toBe(1);
  expect((await get(third)).aheadInQueue).toBe(2);
  await world.tenant((ctx) => cancelBenchmark(ctx, { runId: first }));
  expect((await planOn(world.serverId)).map(({ runId }) => runId)).toEqual([second]);
  await report(world.serverId, second, { rowsReady: 1, httpsPort: 8443 });
  expect((await planOn(west)).map(({ runId }) => runId)).toEqual([second]);
});

test('a cancel takes the run from every server', async () => {
  const runId = await start([east, west]);
  await ready(runId, 1);
  expect((await Promise.all([world.serverId, east, west].map(planOn))).map((plans) => plans.length)).toEqual([1, 1, 1]);
  await world.tenant((ctx) => cancelBenchmark(ctx, { runId }));
  expect(await Promise.all([world.serverId, east, west].map(planOn))).toEqual([[], [], []]);
});

test('a server that fails, is lost or has no clock ends the run, and the message names it', async () => {
  const failed = await start([east, west]);
  await ready(failed, 1);
  await report(west, failed, { state: WorkState.FAILED, failure: { code: 'benchmark.failed', message: 'No memory.' } });
  expect(await get(failed)).toMatchObject({
    ...{ state: 'failed', failureCode: 'benchmark.load_server_failed', failureMessage: 'west: No memory.', rows: [] },
  });

  const lost = await start([east, west]);
  await ready(lost, 1);
  await world.system(({ tx }) => tx.server.updateMany({ where: { id: east }, data: { connectedGateway: null } }));
  expect(await world.system(failOverdueBenchmarks)).toBe(0);
  world.clock.forward(16_000);
  expect(await world.system(failOverdueBenchmarks)).toBe(1);
  expect((await get(lost)).failureMessage).toBe('east: lost the connection to the control plane in row 1.');
  await world.system(({ tx }) =>
    tx.server.updateMany({ data: { connectedGateway: 'gateway#1', lastSeenAt: world.clock.now() } }),
  );

  const blind = await start([east, west]);
  await world.system(({ tx }) => tx.server.updateMany({ where: { id: west }, data: { clockUncertaintyUs: 300_000 } }));
  await world.system(({ tx }) => tx.server.updateMany({ data: { clockMeasuredAt: world.clock.now() } }));
  await ready(blind, 1);
  expect((await get(blind)).failureMessage).toBe('west: its clock is not known within 250 ms.');
});

test('a server that does not get ready in time is named, and no row is stored without its part', async () => {
  const keepConnected = () =>
    world.system(({ tx }) =>
      tx.server.updateMany({ data: { lastSeenAt: world.clock.now(), clockMeasuredAt: world.clock.now() } }),
    );
  const slow = await start([east, west]);
  await report(world.serverId, slow, { rowsReady: 1, httpsPort: 8443 });
  await report(east, slow, { rowsReady: 1 });
  world.clock.forward(181_000);
  await keepConnected();
  expect(await world.system(failOverdueBenchmarks)).toBe(1);
  expect((await get(slow)).failureMessage).toBe('west: not ready for row 1 within 180 seconds.');

  const silent = await start([east, west]);
  await ready(silent, 1);
  await report(world.serverId, silent, { rowsReady: 1, rows: [row(0, 5, 0, 1n)] });
  await report(east, silent, { rowsReady: 1, rows: [row(0, 3, 60, 1n)] });
  world.clock.forward(70_000);
  await keepConnected();
  expect(await world.system(failOverdueBenchmarks)).toBe(1);
  expect(await get(silent)).toMatchObject({ failureMessage: 'west: no result of row 1.', rows: [] });
});

test('a part without a valid histogram is refused, and the report of another server still counts', async () => {
  const runId = await start([east, west]);
  await ready(runId, 1);
  const [startUs = 0n] = await startsOf();
  const broken = row(0, 3, 60, startUs);
  broken.latency?.index.push(1);
  // Its sum with that of another server could not be stored.
  const huge = row(0, 3, 60, startUs);
  huge.latency = histogramToWire({ counts: new Map([[bucketIndex(1000), 60]]), sumUs: Number.MAX_SAFE_INTEGER });
  for (const malformed of [broken, huge]) {
    const reported = report(east, runId, { rowsReady: 1, rows: [malformed] });
    await expect(reported).rejects.toMatchObject({ code: 'link.malformed' });
  }
  await report(world.serverId, runId, { rowsReady: 1, rows: [row(0, 5, 0, startUs)] });
  await report(west, runId, { rowsReady: 1, rows: [row(0, 2, 40, startUs)] });
  await report(east, runId, { rowsReady: 1, rows: [row(0, 3, 60, startUs)] });
  expect(await get(runId)).toMatchObject({ rowsDone: 1, rows: [{ requests: 100 }] });
});

test('an invalid port or a server without a usable address ends the run, and load servers get no such target', async () => {
  const invalid = await start([east, west]);
  await report(world.serverId, invalid, { rowsReady: 1, httpsPort: 65_536 });
  expect(await get(invalid)).toMatchObject({
    state: 'failed',
    failureMessage: expect.stringMatching(/: its proxy has an/),
  });
  expect(await planOn(east)).toEqual([]);

  const unreachable = await start([east, west]);
  await world.system(({ tx }) =>
    tx.server.updateMany({ where: { id: world.serverId }, data: { interfaceAddresses: ['127.0.0.1', '172.17.0.1'] } }),
  );
  await report(world.serverId, unreachable, { rowsReady: 1, httpsPort: 8443 });
  expect(await get(unreachable)).toMatchObject({
    state: 'failed',
    failureMessage: expect.stringMatching(/: it has no address that a load server can use\.$/),
  });

  const moved = await start([east, west]);
  await world.system(({ tx }) =>
    tx.server.updateMany({ where: { id: world.serverId }, data: { interfaceAddresses: ['10.0.0.7'] } }),
  );
  await report(world.serverId, moved, { rowsReady: 1, httpsPort: 8443 });
  await world.system(({ tx }) =>
    tx.server.updateMany({ where: { id: world.serverId }, data: { interfaceAddresses: [] } }),
  );
  expect(await planOn(east)).toEqual([]);
});

test('a server that is lost before the start fails only the run that needs it', async () => {
  const lost = await start([east]);
  const behind = await start([]);
  await world.system(({ tx }) => tx.server.updateMany({ where: { id: east }, data: { connectedGateway: null } }));
  expect(await world.system(failOverdueBenchmarks)).toBe(0);
  world.clock.forward(16_000);
  expect(await world.system(failOverdueBenchmarks)).toBe(1);
  expect(await get(lost)).toMatchObject({
    state: 'failed',
    failureMessage: 'east: not connected when the run could start.',
  });
  expect((await get(behind)).state).toBe('queued');
  expect((await planOn(world.serverId)).map(({ runId }) => runId)).toEqual([behind]);
});

test('a run that no server starts in time fails alone', async () => {
  const head = await start([east]);
  const behind = await start([]);
  world.clock.forward(3_600_000);
  await world.system(({ tx }) => tx.server.updateMany({ data: { lastSeenAt: world.clock.now() } }));
  expect(await world.system(failOverdueBenchmarks)).toBe(1);
  expect([(await get(head)).state, (await get(behind)).state]).toEqual(['failed', 'queued']);
});
