import { newId } from '@fairlead/contract/ids';
import type { AppSample } from '@fairlead/contract/live';
import { expect, test } from 'vitest';
import { sumSamples } from './app-figures.ts';

const sample: AppSample = {
  type: 'app.sample',
  appId: newId('app'),
  environmentId: newId('env'),
  serverId: newId('srv'),
  unixMs: 100_000,
  requestsPerSecond: 10,
  errorsPerSecond: 1,
  clientErrorsPerSecond: 0,
  p50Ms: 1,
  p95Ms: 2,
  p99Ms: 3,
  bytesReceivedPerSecond: 0,
  bytesSentPerSecond: 0,
  cpuMillis: 200,
  memoryBytes: 1000,
  inFlight: 0,
};
const other: AppSample = { ...sample, serverId: newId('srv'), unixMs: 99_400, requestsPerSecond: 30, p99Ms: 90 };

test('the figures of an app add up all its servers, with quantiles only for a single one', () => {
  expect(sumSamples([sample])).toMatchObject({ requestsPerSecond: 10, latency: { p99Ms: 3 } });
  expect(sumSamples([sample, other])).toEqual({
    requestsPerSecond: 40,
    errorsPerSecond: 2,
    cpuMillis: 400,
    memoryBytes: 2000,
    latency: null,
  });
});

test('a server that stopped sending no longer counts', () => {
  expect(sumSamples([sample, { ...other, unixMs: 60_000 }])).toMatchObject({
    requestsPerSecond: 10,
    latency: { p99Ms: 3 },
  });
});
