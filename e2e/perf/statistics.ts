// Intervals of medians by order statistics, for many figures; few rounds use core's bootstrap. Pure.
import { median } from '@fairlead/core/benchmark/statistics';

export interface Interval {
  readonly median: number;
  readonly low: number;
  readonly high: number;
}

/** z of a 95 % interval. */
const Z = 1.96;

/** Median with its 95 % interval by order statistics (binomial, normal approximation): no distribution is assumed. */
export function medianInterval(values: readonly number[]): Interval {
  const sorted = values.toSorted((a, b) => a - b);
  const spread = (Z * Math.sqrt(sorted.length)) / 2;
  const at = (rank: number) => sorted[Math.min(sorted.length - 1, Math.max(0, rank))] ?? Number.NaN;
  return {
    median: median(sorted) ?? Number.NaN,
    low: at(Math.floor(sorted.length / 2 - spread)),
    high: at(Math.ceil(sorted.length / 2 + spread) - 1),
  };
}
