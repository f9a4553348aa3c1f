import { expect, test } from 'vitest';
import {
  bucketIndex,
  bucketLowerUs,
  bucketsMax,
  bucketUpperUs,
  decodeHistogram,
  emptyHistogram,
  encodeHistogram,
  type Histogram,
  histogramFromWire,
  histogramToWire,
  mergeHistograms,
  quantileUs,
} from './histogram.ts';

function record(values: readonly number[]): Histogram {
  const counts = new Map<number, number>();
  for (const value of values) counts.set(bucketIndex(value), (counts.get(bucketIndex(value)) ?? 0) + 1);
  return { counts, sumUs: values.reduce((sum, value) => sum + value, 0) };
}

test('buckets follow each other without gap or overlap, over the whole range', () => {
  for (let index = 0; index < bucketsMax; index += 1) {
    expect(bucketIndex(bucketLowerUs(index))).toBe(index);
    expect(bucketIndex(bucketUpperUs(index) - 1)).toBe(index);
    expect(bucketUpperUs(index)).toBe(bucketLowerUs(index + 1));
  }
  expect(bucketUpperUs(bucketsMax - 1)).toBe(2 ** 36);
  expect(bucketIndex(2 ** 50)).toBe(bucketsMax - 1);
});

test('a quantile is within a thirty-second of the true one', () => {
  const values = Array.from({ length: 10_000 }, (_, i) => (i + 1) * 37);
  const histogram = record(values);
  for (const q of [0.01, 0.5, 0.9, 0.95, 0.99, 0.999, 1]) {
    const truth = values[Math.ceil(q * values.length) - 1] ?? 0;
    expect(Math.abs((quantileUs(histogram, q) ?? 0) - truth) / truth).toBeLessThan(1 / 32);
  }
});

test('merging parts is the same as recording the whole', () => {
  const parts = [[1, 5, 900], [5, 70_000, 2 ** 35], []].map(record);
  expect(mergeHistograms(parts)).toEqual(record([1, 5, 900, 5, 70_000, 2 ** 35]));
  expect(quantileUs(mergeHistograms([]), 0.5)).toBeNull();
});

test('merged histograms can always be stored and read again', () => {
  const huge: Histogram = { counts: new Map([[5, Number.MAX_SAFE_INTEGER]]), sumUs: Number.MAX_SAFE_INTEGER };
  const merged = mergeHistograms([huge, huge, record([5])]);
  expect(decodeHistogram(encodeHistogram(merged))).toEqual(huge);
});

test('stored bytes come back as they were', () => {
  for (const histogram of [emptyHistogram, record([0, 31, 32, 33, 1_000_000, 2 ** 36 - 1])]) {
    expect(decodeHistogram(encodeHistogram(histogram))).toEqual(histogram);
  }
});

test('a histogram that cannot be is refused, not repaired', () => {
  const wire = histogramToWire(record([10, 20]));
  expect(histogramFromWire(wire)).not.toBeNull();
  expect(histogramFromWire({ ...wire, count: [1n] })).toBeNull();
  expect(histogramFromWire({ ...wire, index: [20, 10] })).toBeNull();
  expect(histogramFromWire({ ...wire, index: [10, bucketsMax] })).toBeNull();
  expect(histogramFromWire({ ...wire, count: [1n, 2n ** 60n] })).toBeNull();
  expect(histogramFromWire({ ...wire, sumUs: 2n ** 60n })).toBeNull();
});
