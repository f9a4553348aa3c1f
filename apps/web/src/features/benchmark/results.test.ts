import { loadMs, plainPlan } from '@fairlead/core/benchmark/plan';
import { formatsOf } from '@fairlead/ui/formats';
import { expect, test } from 'vitest';
import {
  hasCurve,
  headlineOf,
  measurableFirst,
  measurementsOf,
  parseConcurrency,
  pathOf,
  type ResultRow,
  successRate,
  summariseRows,
  unstableLines,
  whyNotMeasured,
} from './results.ts';
import { plainRow } from './testing.ts';

const formats = formatsOf({ locale: 'en-US', timeZone: 'UTC' });

function row(part: Partial<ResultRow>): ResultRow {
  return {
    ...plainRow,
    id: 'row_1',
    position: 0,
    round: 0,
    target: 'proxy',
    protocol: 'http1',
    networkPath: 'own-network',
    concurrency: 8,
    durationMs: 2000,
    requests: 100,
    errors: 0,
    requestsPerSecond: 50,
    p50Ms: 1,
    p90Ms: 2,
    p99Ms: 3,
    cpuUsPerRequest: 20,
    proxyMemoryBytes: 1000,
    bytesReceived: 1,
    ...part,
  };
}

test('repeats become one line with medians, and the proxy is compared with direct', () => {
  const lines = summariseRows([
    row({ requestsPerSecond: 40 }),
    row({ requestsPerSecond: 60, errors: 2, round: 1 }),
    row({ requestsPerSecond: 50, round: 2 }),
    row({ target: 'direct', requestsPerSecond: 100, cpuUsPerRequest: null }),
  ]);
  expect(lines.map((line) => [line.target, line.repeats, line.requestsPerSecond, line.ratio, line.errors])).toEqual([
    ['proxy', 3, 50, 0.5, 2],
    ['direct', 1, 100, null, 0],
  ]);
  expect(lines[1]?.cpuUsPerRequest).toBeNull();
});

test('a line has the cores of the load generators and the rounds in which one was saturated', () => {
  const [line] = summariseRows([
    row({ generatorCpuUs: 1_000_000, durationMs: 2000 }),
    row({ generatorCpuUs: 3_800_000, durationMs: 2000, generatorSaturated: true, round: 1 }),
    row({ generatorCpuUs: 1_600_000, durationMs: 2000, round: 2 }),
  ]);
  expect(line).toMatchObject({ generatorCores: 0.8, saturated: 1, repeats: 3 });
  // An imported run may not have it.
  expect(summariseRows([row({})])).toMatchObject([{ generatorCores: null, saturated: 0 }]);
});

test('without a direct row of the same cell there is no ratio', () => {
  const lines = summariseRows([row({}), row({ target: 'direct', concurrency: 1 })]);
  expect(lines.find((line) => line.target === 'proxy')?.ratio).toBeNull();
});

test('rows of different network paths are lines of their own and never in one ratio', () => {
  const lines = summariseRows([
    row({}),
    row({ target: 'direct', networkPath: 'shared-network', requestsPerSecond: 100 }),
    row({ networkPath: 'unix-socket', requestsPerSecond: 30 }),
    row({ target: 'direct', networkPath: 'unix-socket', requestsPerSecond: 60 }),
    row({ networkPath: null, requestsPerSecond: 20, concurrency: 9 }),
    row({ target: 'direct', networkPath: null, requestsPerSecond: 80, concurrency: 9 }),
  ]);
  expect(lines.map((line) => [line.target, line.networkPath, line.ratio])).toEqual([
    ['proxy', 'own-network', null],
    ['proxy', 'unix-socket', 0.5],
    ['direct', 'shared-network', null],
    ['direct', 'unix-socket', null],
    ['proxy', null, 0.25],
    ['direct', null, null],
  ]);
});

test('a protocol without direct rows is compared with direct HTTP/1.1', () => {
  const rows = [row({ protocol: 'http2', requestsPerSecond: 30 }), row({ target: 'direct', requestsPerSecond: 60 })];
  expect(summariseRows(rows).find((line) => line.protocol === 'http2')?.ratio).toBe(0.5);
  expect(measurementsOf(rows, (each) => each.requestsPerSecond)).toEqual([
    { panel: 'HTTP/2', series: 'Fairlead', x: 8, value: 30 },
    { panel: 'HTTP/2', series: 'Direct 1.1', x: 8, value: 60 },
    { panel: 'HTTP/1.1', series: 'Direct', x: 8, value: 60 },
  ]);
});

test('lines are ordered by protocol, then by concurrency as a number', () => {
  const lines = summariseRows([
    row({ concurrency: 32 }),
    row({ concurrency: 8 }),
    row({ protocol: 'http2', concurrency: 1 }),
  ]);
  expect(lines.map((line) => [line.protocol, line.concurrency])).toEqual([
    ['http1', 8],
    ['http1', 32],
    ['http2', 1],
  ]);
});

test('a row without the measure is not drawn as zero', () => {
  expect(measurementsOf([row({ p99Ms: null }), row({ p99Ms: 4 })], (each) => each.p99Ms)).toEqual([
    { panel: 'HTTP/1.1', series: 'Fairlead', x: 8, value: 4 },
  ]);
});

test('the share of successful responses is null without requests', () => {
  expect(successRate(row({ requests: 150, errors: 50 }))).toBe(0.75);
  expect(successRate(row({ requests: 100, errors: 100 }))).toBe(0.5);
  expect(successRate(row({ requests: 0, errors: 3 }))).toBe(0);
  expect(successRate(row({ requests: 0, errors: 0 }))).toBeNull();
});

test('a plan takes as long as the cells that run: HTTP/2 goes through the proxy only', () => {
  const plan = {
    path: '/',
    targets: ['proxy' as const, 'direct' as const],
    protocols: ['http1' as const, 'http2' as const],
    concurrency: [1, 8, 32],
    repeats: 1,
    durationMs: 2000,
    warmupMs: 500,
    ...plainPlan,
    thresholds: [],
  };
  expect(loadMs(plan)).toBe(9 * 2500);
  const stages = [1000, 3000].map((durationMs) => ({ durationMs, requestsPerSecond: 10 }));
  expect(loadMs({ ...plan, load: { ...plan.load, stages } })).toBe(9 * (2 * 500 + 4000));
});

test('three rounds have intervals, and noise that a round shares cancels out of the ratio', () => {
  const rounds = [1000, 2000, 500];
  const rows = rounds.flatMap((requestsPerSecond, round) => [
    row({ round, requestsPerSecond: requestsPerSecond * 0.8 }),
    row({ round, requestsPerSecond, target: 'direct' }),
  ]);
  const [proxy, direct] = summariseRows(rows);
  expect(proxy?.interval).toEqual({ median: 800, low: 400, high: 1600 });
  expect(proxy?.ratioInterval?.low).toBeCloseTo(0.8);
  expect(proxy?.ratioInterval?.high).toBeCloseTo(0.8);
  expect(direct?.ratioInterval).toBeNull();
  expect(unstableLines(summariseRows(rows))).toHaveLength(2);
  expect(unstableLines(summariseRows(rows.slice(0, 4)))).toEqual([]);
  expect(headlineOf(rows, formats)).toBeNull();
});

test.each([
  ['1, 8 32', [1, 8, 32]],
  ['32,1,1', [1, 32]],
  ['', null],
  ['1, x', null],
  ['-4', null],
])('the concurrency %j reads as %j', (text, numbers) => expect(parseConcurrency(text)).toEqual(numbers));

test('the headline is what the proxy adds at the lowest concurrency with a direct row', () => {
  const rows = [
    row({ concurrency: 32, p50Ms: 9 }),
    row({ concurrency: 32, p50Ms: 1, target: 'direct' }),
    row({ concurrency: 1, p50Ms: 0.7 }),
    row({ concurrency: 1, p50Ms: 0.5, target: 'direct' }),
    row({ concurrency: 1, p50Ms: 5, protocol: 'http2' }),
  ];
  expect(headlineOf(rows, formats)).toBe('The proxy adds 200 µs at p50 (HTTP/1.1, concurrency 1).');
  expect(headlineOf([row({ p50Ms: 1 }), row({ p50Ms: 1.1, target: 'direct' })], formats)).toBe(
    'The proxy adds no measurable latency at p50 (HTTP/1.1, concurrency 8).',
  );
  expect(headlineOf([row({}), row({ target: 'direct', networkPath: 'unix-socket' })], formats)).toBeNull();
  expect(headlineOf([], formats)).toBeNull();
});

test('one concurrency level is no curve', () => {
  expect(hasCurve([row({}), row({ target: 'direct' })])).toBe(false);
  expect(hasCurve([row({}), row({ concurrency: 1 })])).toBe(true);
});

test('apps that run come first, and others say why they are not offered', () => {
  const live = {} as NonNullable<Parameters<typeof whyNotMeasured>[0]['liveRelease']>;
  const failed = { status: 'failed', liveRelease: live, hosts: ['a.test'] } as const;
  const offline = { ...failed, status: 'server_offline' } as const;
  const bare = { ...failed, status: 'healthy', hosts: [] } as const;
  const running = { ...failed, status: 'healthy' } as const;
  const fresh = { ...failed, status: 'not_deployed', liveRelease: null } as const;
  expect([failed, offline, bare, running, fresh].map(whyNotMeasured)).toEqual([
    'failed',
    'server offline',
    'no domain',
    null,
    'not deployed',
  ]);
  expect(measurableFirst([failed, offline, running, fresh])).toEqual([running, failed, offline, fresh]);
});

test('the lab compares with nginx, and names the CPU of a request if the rounds agree', () => {
  const rounds = [0, 1, 2];
  const rows = rounds.flatMap((round) => [
    row({ round, networkPath: 'shared-network', requestsPerSecond: 200, cpuUsPerRequest: 10 + round / 10 }),
    row({ round, networkPath: 'shared-network', target: 'nginx', requestsPerSecond: 100, cpuUsPerRequest: 20 }),
    row({ round, networkPath: 'shared-network', target: 'direct', requestsPerSecond: 400, cpuUsPerRequest: null }),
  ]);
  expect(summariseRows(rows).map(({ target, ratio }) => [target, ratio])).toEqual([
    ['proxy', 2],
    ['direct', 4],
    ['nginx', null],
  ]);
  expect(headlineOf(rows, formats)).toBe(
    'Fairlead needs 0.51× the CPU of nginx for a request (HTTP/1.1, concurrency 8).',
  );
});

test('a scenario keeps its phases apart, and tells failed requests and latency', () => {
  const rows = (['before', 'during', 'after'] as const).map((phase, position) =>
    row({ position, phase, p99Ms: phase === 'during' ? 12 : 3, errors: phase === 'during' ? 2 : 0 }),
  );
  expect(summariseRows(rows).map(({ phase, p99Ms }) => [phase, p99Ms])).toEqual([
    ['before', 3],
    ['during', 12],
    ['after', 3],
  ]);
  expect(headlineOf(rows, formats)).toMatch(/^2 requests failed during the event\. p99 was 12.*, and 3.* before it\.$/);
  expect(measurementsOf(rows, ({ p99Ms }) => p99Ms).map(({ panel }) => panel)).toEqual([
    'HTTP/1.1, before',
    'HTTP/1.1, during',
    'HTTP/1.1, after',
  ]);
});

test('probes of one target are apart, and the headline is about WebSocket messages', () => {
  const probes = (['json', 'websocket'] as const).flatMap((probe) =>
    (['proxy', 'direct'] as const).map((target) => row({ probe, target, p50Ms: target === 'proxy' ? 0.5 : 0.2 })),
  );
  expect(summariseRows(probes).map(({ probe, target }) => [target, probe])).toEqual([
    ['proxy', 'json'],
    ['proxy', 'websocket'],
    ['direct', 'json'],
    ['direct', 'websocket'],
  ]);
  expect(measurementsOf(probes, ({ p50Ms }) => p50Ms).map(({ panel }) => panel)).toContain('HTTP/1.1, WebSocket echo');
  expect(headlineOf(probes, formats)).toMatch(
    /^The proxy adds .* to a WebSocket round trip at p50 \(concurrency 8\)\.$/,
  );
});

test('the noise of a cell is the median of its rounds, without rounds that have no sample', () => {
  const noise = (otherCpuUs: number | null) => ({ machineCpuUs: 1000, otherCpuUs, stealUs: 10, frequencyMhz: null });
  const rounds = [noise(100), noise(300), noise(null), null];
  const lines = summariseRows(rounds.map((each, round) => row({ round, noise: each })));
  expect(lines).toMatchObject([{ otherShare: 0.2, stealShare: 0.01 }]);
});

test('the path of all rows is named only if it is one', () => {
  const rows = (...paths: ResultRow['networkPath'][]) => paths.map((networkPath) => ({ networkPath }));
  expect(pathOf(rows('own-network', 'own-network'))).toBe('own-network');
  expect(pathOf(rows('own-network', 'shared-network'))).toBeNull();
  expect(pathOf(rows('own-network', null))).toBeNull();
  expect(pathOf(rows(null, null))).toBeNull();
});
