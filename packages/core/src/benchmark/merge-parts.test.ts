// Tests that a merged row has the sum of all load servers, and proxy and app of the app's server.
import { create } from '@bufbuild/protobuf';
import {
  type BenchmarkRow,
  BenchmarkRowSchema,
  BenchmarkTarget,
  HistogramSchema,
  NetworkPath,
} from '@fairlead/contract/agent';
import { bucketIndex, histogramToWire, quantileUs } from '@fairlead/contract/histogram';
import { expect, test } from 'vitest';
import { latencyOf, mergeParts } from './merge-parts.ts';

/** Latency of `counts`, as pairs of microseconds and requests. */
function row(counts: readonly (readonly [number, number])[], fields: object): BenchmarkRow {
  const buckets = new Map(counts.map(([us, count]) => [bucketIndex(us), count]));
  const sumUs = counts.reduce((sum, [us, count]) => sum + us * count, 0);
  return create(BenchmarkRowSchema, {
    ...{ position: 3, round: 1, target: BenchmarkTarget.PROXY, durationMs: 1000 },
    latency: histogramToWire({ counts: buckets, sumUs }),
    requests: BigInt(counts.reduce((sum, [, count]) => sum + count, 0)),
    ...fields,
  });
}

const fast = row([[100, 990]], {
  ...{ concurrency: 4, clients: 4, errors: 3n, bytesReceived: 10n, generatorCpuUs: 5n, latencyMaxUs: 120n, unsent: 1n },
  failures: { timeout: 2n, '5xx': 1n },
});
const slow = row(
  [
    [100, 900],
    [50_000, 110],
  ],
  {
    ...{
      concurrency: 3,
      clients: 3,
      errors: 1n,
      bytesReceived: 20n,
      generatorCpuUs: 6n,
      latencyMaxUs: 51_000n,
      unsent: 2n,
    },
    ...{ failures: { timeout: 1n }, generatorSaturated: true },
  },
);
const app = row([], { proxyCpuUs: 700n, proxyMemoryBytes: 800n, appCpuUs: 900n, concurrency: 7 });

test('counts, errors by kind, bytes and histograms are added up', () => {
  const merged = mergeParts([
    { role: 'measure', row: app },
    { role: 'load', row: fast },
    { role: 'load', row: slow },
  ]);
  expect(merged).toMatchObject({
    ...{ position: 3, round: 1, durationMs: 1000, networkPath: NetworkPath.BETWEEN_SERVERS },
    ...{ concurrency: 7, clients: 7, requests: 2000n, errors: 4n, bytesReceived: 30n, unsent: 3n },
    ...{ failures: { timeout: 3n, '5xx': 1n }, generatorCpuUs: 11n, generatorSaturated: true, latencyMaxUs: 51_000n },
    ...{ proxyCpuUs: 700n, proxyMemoryBytes: 800n, appCpuUs: 900n },
  });
  // Percentiles come from all requests together: neither half has the 95th percentile of the whole.
  expect(quantileUs(latencyOf(fast), 0.95)).toBeLessThan(110);
  expect(quantileUs(latencyOf(merged), 0.94)).toBeLessThan(110);
  expect(quantileUs(latencyOf(merged), 0.95)).toBeGreaterThan(40_000);
  expect(latencyOf(merged).sumUs).toBe(latencyOf(fast).sumUs + latencyOf(slow).sumUs);
});

test('a row without the part of the app or of a load server is an error', () => {
  expect(() => mergeParts([{ role: 'load', row: fast }])).toThrow(RangeError);
  expect(() => mergeParts([{ role: 'measure', row: app }])).toThrow(RangeError);
});

test('an invalid histogram is refused', () => {
  const broken = create(BenchmarkRowSchema, {
    ...slow,
    latency: create(HistogramSchema, { index: [5, 4], count: [1n, 1n], sumUs: 1n }),
  });
  expect(() =>
    mergeParts([
      { role: 'measure', row: app },
      { role: 'load', row: broken },
    ]),
  ).toThrow(expect.objectContaining({ code: 'link.malformed' }));
});
