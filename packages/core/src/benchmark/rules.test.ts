import { newId } from '@fairlead/contract/ids';
import { expect, test } from 'vitest';
import { loadMs, rowsOf, timeLimitMs } from './plan.ts';
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
  expect(accepts({ requestsPerSecond: 100, protocols: ['http2', 'http3'], targets: ['proxy'] })).toBe(true);
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
    { load: { requests: [{ path: '/a' }] }, path: '/b' },
    { load: { requests: [{ path: '/a/../b' }] } },
    { load: { requests: [{ path: '/', body: 'x' }] } },
    { load: { requests: [{ method: 'CONNECT', path: '/' }] } },
    { load: { requests: [{ path: '/', headers: { Host: 'other.example.test' } }] } },
    { load: { requests: [{ path: '/', headers: { Authorization: 'Bearer x' } }] } },
    { load: { requests: [{ path: '/', headers: { 'X-A': 'a\r\nX-B: b' } }] } },
    { load: { requests: [{ path: '/', headers: { Accept: 'a', accept: 'b' } }] } },
    { load: { requests: [{ path: '/', weight: 0 }] } },
    { load: { requests: Array.from({ length: 3 }, () => ({ method: 'POST', path: '/', body: 'x'.repeat(60_000) })) } },
    { load: { requests: Array.from({ length: 51 }, () => ({ path: '/' })) } },
    { load: { thinkTimeMs: 100 }, requestsPerSecond: 100 },
    { load: { stages: [{ durationMs: 1000, requestsPerSecond: 100 }] } },
    { load: { stages: [{ durationMs: 1000, requestsPerSecond: 0 }] }, requestsPerSecond: 100 },
    {
      load: { stages: [{ durationMs: 1000, requestsPerSecond: 100 }] },
      ...{ requestsPerSecond: 100, scenario: 'burst', protocols: ['http1'] },
    },
    {
      load: { stages: Array.from({ length: 10 }, () => ({ durationMs: 300_000, requestsPerSecond: 100 })) },
      ...{ requestsPerSecond: 100, concurrency: [1, 2], repeats: 3 },
    },
    { upstream: 'lab', path: '/bytes/1048576' },
    { upstream: 'lab', concurrency: [20_000], labApp: { responseBytes: 1_048_576 } },
    { upstream: 'lab', labApp: { server: 'puma' }, scenario: 'burst', requestsPerSecond: 100, protocols: ['http1'] },
    { upstream: 'lab', labApp: { server: 'puma', errorEvery: 10 } },
    { upstream: 'lab', scenario: 'packet-loss', link: { lossPercent: 0, delayMs: 0 } },
    { upstream: 'lab', scenario: 'packet-loss', link: { lossPercent: 51 } },
    { upstream: 'live', scenario: 'packet-loss', targets: ['proxy'] },
    { scenario: 'wake', targets: ['proxy', 'direct'], protocols: ['http1'] },
    { scenario: 'wake', targets: ['proxy'], protocols: ['http2'] },
    { scenario: 'wake', targets: ['proxy'], protocols: ['http1'], requestsPerSecond: 100 },
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

test('gRPC is measured by itself, with calls of methods and messages in base64', () => {
  const live = { protocols: ['grpc'], path: '/shop.Cart/Get' };
  expect(accepts(live)).toBe(true);
  // An app of gRPC speaks HTTP/2 without TLS, so it is measured directly too.
  expect(rowsOf(plan(live))).toBe(2 * 2 * 3);
  const call = (request: object) => ({ protocols: ['grpc'], load: { requests: [{ method: 'POST', ...request }] } });
  expect(accepts(call({ path: '/api/shop.Cart/Get', body: 'CgVoZWxsbw==' }))).toBe(true);
  const lab = { upstream: 'lab', protocols: ['grpc'], targets: ['proxy', 'direct', 'floor', 'nginx', 'haproxy'] };
  for (const changes of [{}, { scenario: 'slow-upstream', requestsPerSecond: 100, concurrency: [8] }]) {
    expect(accepts({ ...lab, ...changes })).toBe(true);
  }
  for (const changes of [
    { protocols: ['grpc'] },
    { ...live, path: '/shop.Cart' },
    { ...live, path: '/shop.Cart/Get?a' },
    { ...live, protocols: ['http2', 'grpc'] },
    { ...live, connection: 'fresh' },
    call({ path: '/shop.Cart/Get', method: 'GET' }),
    call({ path: '/shop.Cart' }),
    call({ path: '/shop.Cart/Get', body: 'not base64' }),
    call({ path: '/shop.Cart/Get', body: 'CgVoZWxsbw' }),
    // Bits after the last byte.
    call({ path: '/shop.Cart/Get', body: 'AB==' }),
    { ...lab, targets: ['proxy', 'h2o'] },
    { ...lab, targets: ['spooky'] },
    { ...lab, labApp: { server: 'puma' } },
    { ...lab, scenario: 'latency', concurrency: [1] },
  ]) {
    expect(accepts(changes), JSON.stringify(changes)).toBe(false);
  }
});

test('each stage is a row, and takes its own time', () => {
  const stages = [1000, 3000].map((durationMs) => ({ durationMs, requestsPerSecond: 200 }));
  const staged = plan({ requestsPerSecond: 100, load: { stages }, durationMs: 30_000 });
  expect(rowsOf(staged)).toBe(2 * 3 * 2 * 3);
  expect(loadMs(staged)).toBe(3 * 2 * 3 * (4000 + 2 * 500));
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

test('packet loss is measured over every protocol without a rate, and a wake has one row in a round', () => {
  const loss = {
    upstream: 'lab',
    scenario: 'packet-loss',
    targets: ['proxy', 'direct'],
    protocols: ['http1', 'http3'],
  };
  expect(accepts(loss)).toBe(true);
  expect(rowsOf(plan({ ...loss, repeats: 2, concurrency: [8] }))).toBe(3 * 3 * 2);
  const wake = { scenario: 'wake', targets: ['proxy'], protocols: ['http1'], concurrency: [1, 8], repeats: 5 };
  expect(accepts(wake)).toBe(true);
  expect(rowsOf(plan(wake))).toBe(10);
  expect(accepts({ upstream: 'lab', labApp: { server: 'uvicorn', responseDelayMs: 20 } })).toBe(true);
});

test('a run has time for every row, and some more', () => {
  const each = plan({ durationMs: 2000, warmupMs: 500 });
  expect(timeLimitMs(each)).toBeGreaterThan(rowsOf(each) * 2500);
});
