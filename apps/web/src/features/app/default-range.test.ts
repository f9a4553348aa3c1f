import { expect, test } from 'vitest';
import type { AppMetric, Range } from '../../api/types.ts';
import { defaultRange } from './default-range.ts';

const withRequests = (...busy: readonly Range[]) =>
  defaultRange(async (range) => ({ totals: { requests: busy.includes(range) ? 1 : 0 } }) as AppMetric);

test('the default range is the shortest with a request', async () => {
  expect(await withRequests('15m', '1h', '24h')).toBe('15m');
  expect(await withRequests('1h', '24h')).toBe('1h');
  expect(await withRequests('24h')).toBe('24h');
});

test('without any request, and without a chart, it is the one that streams', async () => {
  expect(await withRequests()).toBe('15m');
  expect(await defaultRange(async () => undefined)).toBe('15m');
});
