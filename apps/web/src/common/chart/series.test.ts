import { bucketIndex } from '@fairlead/contract/buckets';
import { newId } from '@fairlead/contract/ids';
import type { AppSample, ServerSample } from '@fairlead/contract/live';
import { expect, test } from 'vitest';
import { chartRows } from './chart-rows.ts';
import { appendLiveRows, appRows, liveAppRows, liveServerRows } from './series.ts';

const sample: AppSample = {
  type: 'app.sample',
  appId: newId('app'),
  environmentId: newId('env'),
  serverId: newId('srv'),
  unixMs: 10_000,
  requestsPerSecond: 10,
  errorsPerSecond: 1,
  clientErrorsPerSecond: 2,
  latency: [bucketIndex(1000), 10],
  bytesReceivedPerSecond: 0,
  bytesSentPerSecond: 0,
  cpuMillis: 500,
  memoryBytes: 1000,
  inFlight: 0,
};

test('live rows of a step have the means and merged quantiles of all servers, as the API’s', () => {
  const slow = { ...sample, serverId: newId('srv'), requestsPerSecond: 30, latency: [bucketIndex(90_000), 30] };
  const samples = [sample, { ...sample, unixMs: 12_000, requestsPerSecond: 20 }, slow, { ...sample, unixMs: 15_000 }];
  const rows = liveAppRows(samples, 5000, 4);
  expect(rows.map(({ at }) => at)).toEqual([10_000, 15_000]);
  expect(rows[0]?.values).toMatchObject({
    requests: 45,
    errors: 2,
    clientErrors: 4,
    successes: 39,
    cpu: 0.25,
    memory: 2000,
  });
  expect(rows[0]?.values.p50).toBeGreaterThan(80);
  expect(rows[1]?.values.p50).toBeCloseTo(1, 1);
});

test('CPU is a share of the machine, never above it, and none while the cores are unknown', () => {
  const server = { type: 'server.sample', unixMs: 0, cpuMillis: 2020 } as ServerSample;
  expect(liveServerRows([server], 5000, 2)[0]?.values.cpu).toBe(1);
  expect(liveServerRows([server], 5000, 0)[0]?.values.cpu).toBeNull();
});

test('responses are split by status code; failed exchanges never make a negative rest', () => {
  const base = { p50Ms: null, p95Ms: null, p99Ms: null, cpuMillis: null, memoryBytes: null, inFlight: null };
  const point = { at: new Date(0), requestsPerSecond: 3, errorsPerSecond: 4, clientErrorsPerSecond: 0, ...base };
  expect(appRows([point], 2)[0]?.values).toMatchObject({ successes: 0, errors: 4, cpu: null });
});

test('live rows continue the fetched ones after their whole steps', () => {
  const row = (at: number, a: number) => ({ at, values: { a } });
  const fetched = [row(0, 1), row(5000, 2)];
  // The live row of 5000 has only a part of its step.
  expect(appendLiveRows(fetched, [row(15_000, 9), row(5000, 7), row(10_000, 8)], 10_000, 5000)).toEqual([
    row(5000, 2),
    row(10_000, 8),
    row(15_000, 9),
  ]);
  const metric = { from: new Date(0), to: new Date(10_000), stepMs: 5000 };
  expect(chartRows(metric, fetched, []).span).toEqual({ from: 0, to: 10_000 });
  expect(chartRows(metric, fetched, [row(10_000, 8)])).toEqual({
    rows: [row(5000, 2), row(10_000, 8)],
    span: { from: 5000, to: 15_000 },
  });
});
