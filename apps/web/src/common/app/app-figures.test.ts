import { bucketIndex } from '@fairlead/contract/buckets';
import { newId } from '@fairlead/contract/ids';
import type { AppSample } from '@fairlead/contract/live';
import { expect, test } from 'vitest';
import { mergeSamples } from './app-figures.ts';

const [fast, slow] = [bucketIndex(1000), bucketIndex(90_000)];

const sample: AppSample = {
  type: 'app.sample',
  appId: newId('app'),
  environmentId: newId('env'),
  serverId: newId('srv'),
  unixMs: 100_000,
  requestsPerSecond: 10,
  errorsPerSecond: 1,
  clientErrorsPerSecond: 2,
  latency: [fast, 10],
  bytesReceivedPerSecond: 0,
  bytesSentPerSecond: 0,
  cpuMillis: 200,
  memoryBytes: 1000,
  inFlight: 0,
};
const other: AppSample = {
  ...sample,
  serverId: newId('srv'),
  unixMs: 99_400,
  requestsPerSecond: 30,
  latency: [slow, 30],
};

test('the figures of an app add up all its servers, with quantiles of one merged histogram', () => {
  const figures = mergeSamples([sample, other]);
  expect(figures).toMatchObject({
    at: 100_000,
    requestsPerSecond: 40,
    errorsPerSecond: 2,
    clientErrorsPerSecond: 4,
    cpuMillis: 400,
    memoryBytes: 2000,
  });
  // Thirty of forty requests were slow.
  expect(figures.p50Ms).toBeGreaterThan(80);
  expect(mergeSamples([sample]).p99Ms).toBeCloseTo(1, 1);
});

test('rates and CPU are the mean of ten seconds, memory is the newest', () => {
  const before = { ...sample, unixMs: 92_000, requestsPerSecond: 30, cpuMillis: 0, memoryBytes: 9000 };
  const old = { ...sample, unixMs: 89_000, requestsPerSecond: 999 };
  expect(mergeSamples([old, before, sample])).toMatchObject({
    requestsPerSecond: 20,
    cpuMillis: 100,
    memoryBytes: 1000,
  });
});

test('a server that stopped sending no longer counts', () => {
  expect(mergeSamples([sample, { ...other, unixMs: 60_000 }])).toMatchObject({ requestsPerSecond: 10 });
});

test('without a request the last latency stays, with its time', () => {
  const before = mergeSamples([sample]);
  const quiet = { ...sample, unixMs: 120_000, requestsPerSecond: 0, latency: [] };
  expect(mergeSamples([quiet], before)).toMatchObject({
    requestsPerSecond: 0,
    p50Ms: before.p50Ms,
    p99Ms: before.p99Ms,
    latencyAt: 100_000,
  });
  expect(mergeSamples([quiet])).toMatchObject({ p50Ms: null, p95Ms: null, p99Ms: null });
});
