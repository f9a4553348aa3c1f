// Tests of intervals: they hold the true value as often as they say, and name no winner in noise.
import { describe, expect, test } from 'vitest';
import { estimate, isDifferent, isReproducible, median, pairedRatio, unpairedRatio } from './statistics.ts';

test('the median of an even number of values is the mean of the middle two', () => {
  expect(median([4, 1, 3, 2])).toBe(2.5);
  expect(median([3, 1, 2])).toBe(2);
  expect(median([])).toBeNull();
});

describe('an interval', () => {
  test('spans three rounds, and is absent with fewer', () => {
    expect(estimate([12, 10, 11])).toEqual({ median: 11, low: 10, high: 12 });
    expect(estimate([10, 11])).toBeNull();
  });

  test('is the same each time', () => {
    const values = [5, 9, 2, 7, 4, 8, 3];
    expect(estimate(values)).toEqual(estimate(values));
  });

  test('of many rounds is narrower than they are', () => {
    const values = Array.from({ length: 101 }, (_, at) => at);
    const { median: middle = 0, low = 0, high = 0 } = estimate(values) ?? {};
    expect(middle).toBe(50);
    expect(low).toBeGreaterThan(25);
    expect(high).toBeLessThan(75);
  });
});

describe('a ratio', () => {
  test('of rounds ignores noise that both share', () => {
    const direct = [100, 50, 200, 80];
    const ratio = pairedRatio(
      direct.map((value) => value * 0.8),
      direct,
    );
    expect(ratio?.median).toBeCloseTo(0.8);
    expect(ratio?.high).toBeCloseTo(0.8);
    expect(ratio !== null && isReproducible(ratio)).toBe(true);
  });

  test('of two runs names a difference that exceeds the noise', () => {
    const ratio = unpairedRatio([130, 131, 129], [100, 101, 99]);
    expect(ratio !== null && isDifferent(ratio)).toBe(true);
  });

  test('of two noisy runs names none', () => {
    const ratio = unpairedRatio([100, 140, 90], [95, 130, 110]);
    expect(ratio !== null && isDifferent(ratio)).toBe(false);
  });

  test('to nothing is absent', () => {
    expect(pairedRatio([1, 2, 3], [0, 0, 0])).toBeNull();
    expect(unpairedRatio([1, 2, 3], [1])).toBeNull();
  });
});

test('a wide interval is not reproducible', () => {
  expect(isReproducible({ median: 100, low: 91, high: 110 })).toBe(true);
  expect(isReproducible({ median: 100, low: 80, high: 110 })).toBe(false);
  expect(isReproducible({ median: 0, low: 0, high: 0 })).toBe(false);
});

test('thousands of values have no interval, and hundreds a bounded number of resamples', () => {
  const values = Array.from({ length: 900 }, (_, at) => 100 + (at % 7));
  expect(estimate(values)?.median).toBe(103);
  expect(estimate([...values, ...values])).toBeNull();
  expect(unpairedRatio([...values, ...values], values)).toBeNull();
});
