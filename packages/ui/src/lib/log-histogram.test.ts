import { expect, test } from 'vitest';
import { logBuckets } from './log-histogram.ts';

const at = (unixMs: number | null, level: 'error' | 'warn' | null = null) => ({ unixMs, level });

test('lines are counted by time and level, the last one in the last bucket', () => {
  const buckets = logBuckets([at(0), at(10, 'error'), at(99, 'warn'), at(100), at(null)], 2);
  expect(buckets).toEqual([
    { startMs: 0, errors: 1, warnings: 0, others: 1 },
    { startMs: 50, errors: 0, warnings: 1, others: 1 },
  ]);
});

test('lines of one moment have no histogram', () => {
  expect(logBuckets([], 10)).toEqual([]);
  expect(logBuckets([at(5), at(5)], 10)).toEqual([]);
});
