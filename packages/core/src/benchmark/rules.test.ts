import { newId } from '@fairlead/contract/ids';
import { expect, test } from 'vitest';
import { rowsOf, timeLimitMs } from './plan.ts';
import { benchmarkPlanSchema, createBenchmarkInputSchema } from './schema.ts';

const plan = (changes: object) => benchmarkPlanSchema.parse({ concurrency: [1, 8], repeats: 3, ...changes });
const accepts = (changes: object): boolean =>
  createBenchmarkInputSchema.safeParse({ appId: newId('app'), plan: changes }).success;

test('rows are counted as the agent makes them: HTTP/2 and HTTP/3 go through the proxy only', () => {
  expect(rowsOf(plan({}))).toBe(3 * 2 * 3);
  expect(rowsOf(plan({ protocols: ['http1'] }))).toBe(2 * 2 * 3);
  expect(rowsOf(plan({ targets: ['proxy'], protocols: ['http2'] }))).toBe(2 * 3);
  expect(rowsOf(plan({ protocols: ['http1', 'http3'] }))).toBe(2 * 3 * 3);
});

test('a plan that measures nothing, or never ends, is refused', () => {
  expect(accepts({})).toBe(true);
  for (const changes of [
    { targets: ['direct'], protocols: ['http2'] },
    { targets: [] },
    { concurrency: [8, 8] },
    { concurrency: [0] },
    { concurrency: [100_000] },
    { repeats: 100 },
    { durationMs: 10 * 60_000 },
    { path: 'no-slash' },
    { path: '/a b' },
    { path: '/a\r\nx: y' },
    { targets: ['nginx'] },
    { protocols: ['http1-cleartext'] },
    { concurrency: [5000] },
    { scenario: 'slow-upstream', requestsPerSecond: 100, targets: ['proxy'], protocols: ['http1'] },
    { scenario: 'deploy', targets: ['proxy'], protocols: ['http1'] },
    { scenario: 'deploy', requestsPerSecond: 100, targets: ['proxy', 'direct'], protocols: ['http1'] },
    { scenario: 'deploy', requestsPerSecond: 100, upstream: 'lab', targets: ['proxy'], protocols: ['http1'] },
    { requestsPerSecond: 100, protocols: ['http2'] },
    { upstream: 'lab', path: '/bytes/1048576' },
    { upstream: 'lab', concurrency: [20_000], labApp: { responseBytes: 1_048_576 } },
    { connection: 'fresh', protocols: ['http2'] },
    { connection: 'fresh', requestsPerSecond: 100, protocols: ['http1'] },
    { concurrency: [1, 2, 3, 4, 5, 6, 7, 8], repeats: 9, upstream: 'lab', targets: ['proxy', 'nginx', 'haproxy'] },
  ])
    expect(accepts(changes), JSON.stringify(changes)).toBe(false);
});

test('the lab measures other proxies, more clients, and scenarios in three phases', () => {
  const lab = { upstream: 'lab', targets: ['proxy', 'floor', 'nginx'], protocols: ['http1', 'http1-cleartext'] };
  expect(accepts({ ...lab, concurrency: [100, 20_000] })).toBe(true);
  const burst = { ...lab, scenario: 'burst', requestsPerSecond: 100 };
  expect(accepts(burst)).toBe(true);
  expect(rowsOf(plan(burst))).toBe(3 * 2 * 3 * 2 * 3);
  expect(accepts({ scenario: 'deploy', requestsPerSecond: 100, targets: ['proxy'], protocols: ['http1'] })).toBe(true);
});

test('latency probes are measured in the lab, over reused HTTP/1.1 connections, by few clients', () => {
  const probes = { upstream: 'lab', scenario: 'latency', protocols: ['http1'], concurrency: [1] };
  expect(accepts(probes)).toBe(true);
  expect(rowsOf(plan(probes))).toBe(2 * 6 * 3);
  for (const changes of [
    { upstream: 'live' },
    { protocols: ['http1', 'http2'] },
    { connection: 'fresh' },
    { requestsPerSecond: 100 },
    { concurrency: [65] },
  ]) {
    expect(accepts({ ...probes, ...changes }), JSON.stringify(changes)).toBe(false);
  }
});

test('a run has time for every row, and some more', () => {
  const each = plan({ durationMs: 2000, warmupMs: 500 });
  expect(timeLimitMs(each)).toBeGreaterThan(rowsOf(each) * 2500);
});
