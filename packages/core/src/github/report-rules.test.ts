import { expect, test } from 'vitest';
import { retryAt } from './report-rules.ts';

test('pauses between attempts double up to an hour', () => {
  const now = new Date(0);
  expect([1, 2, 9, 50].map((attempt) => retryAt(now, attempt).getTime())).toEqual([
    10_000, 20_000, 2_560_000, 3_600_000,
  ]);
});
