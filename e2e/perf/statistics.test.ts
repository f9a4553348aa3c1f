import { expect, it } from 'vitest';
import { ratioInterval } from './statistics.ts';

it('has no width without noise', () => {
  expect(ratioInterval([20, 20, 20], [10, 10, 10])).toEqual({ ratio: 2, low: 2, high: 2 });
});

it('contains the ratio of the medians, within the ratios of single figures', () => {
  const ours = [90, 110, 100, 105, 95];
  const theirs = [100, 104, 98, 101, 99];
  const { ratio, low, high } = ratioInterval(ours, theirs);
  expect(ratio).toBe(1);
  expect(low).toBeLessThan(1);
  expect(high).toBeGreaterThan(1);
  expect(low).toBeGreaterThanOrEqual(90 / 104);
  expect(high).toBeLessThanOrEqual(110 / 98);
  expect(ratioInterval(ours, theirs)).toEqual({ ratio, low, high });
});

it('resamples rounds, so noise that both share cancels out', () => {
  const shared = [100, 50, 200, 80, 120];
  const { low, high } = ratioInterval(
    shared.map((value) => value * 1.5),
    shared,
  );
  expect([low, high]).toEqual([1.5, 1.5]);
});

it('refuses figures without a pair', () => {
  expect(() => ratioInterval([1, 2], [1])).toThrow('pairs');
});
