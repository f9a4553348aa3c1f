// Statistics of repeated measurements: medians and ratios with bootstrap confidence intervals. Pure, and the same input
// always gives the same interval.

/** 95 % confidence interval. */
export interface Interval {
  readonly low: number;
  readonly high: number;
}

export interface Estimate extends Interval {
  readonly median: number;
}

/** Fewest rounds with an interval: fewer show nothing about the noise. */
export const ROUNDS_MIN = 3;
/** Widest interval of a reproducible result, as a share of its median. */
export const SPREAD_MAX = 0.2;

/** Resamples, and the most values that all of them pick together: a foreign document may have thousands of rounds. */
const RESAMPLES = 2000;
const PICKS_MAX = 200_000;
/** Most values with an interval. */
const VALUES_MAX = 1000;
const TAIL = 0.025;

/** Returns null without values. */
export function median(values: readonly number[]): number | null {
  const sorted = values.toSorted((one, other) => one - other);
  const [low, high] = [sorted[(sorted.length - 1) >> 1], sorted[sorted.length >> 1]];
  return low === undefined || high === undefined ? null : (low + high) / 2;
}

/** Median of one value for each round; null with fewer rounds than `ROUNDS_MIN`. */
export function estimate(values: readonly number[]): Estimate | null {
  return bootstrap(values.length, (pick) => median(pick.map((at) => values[at] ?? Number.NaN)));
}

/**
 * Median of the ratios of each round. Measurements of a round follow one another, so noise that lasts longer than that is
 * in both and cancels out.
 */
export function pairedRatio(values: readonly number[], baseline: readonly number[]): Estimate | null {
  const rounds = Math.min(values.length, baseline.length);
  return estimate(Array.from({ length: rounds }, (_, round) => (values[round] ?? 0) / (baseline[round] ?? 0)));
}

/** Ratio of the medians of two runs, whose rounds have nothing to do with each other. */
export function unpairedRatio(values: readonly number[], baseline: readonly number[]): Estimate | null {
  const count = Math.max(values.length, baseline.length);
  if (Math.min(values.length, baseline.length) < ROUNDS_MIN || count > VALUES_MAX) return null;
  const random = randomNumbers();
  const pickOf = (all: readonly number[]) => median(all.map(() => all[Math.floor(random() * all.length)] ?? 0));
  const ratioOf = (above: number | null, below: number | null) => (above ?? Number.NaN) / (below ?? Number.NaN);
  const ratios = Array.from({ length: resamplesOf(count) }, () => ratioOf(pickOf(values), pickOf(baseline)));
  return toEstimate(ratioOf(median(values), median(baseline)), ratios);
}

/** True if the interval is narrow enough to name a winner. */
export function isReproducible({ median: middle, low, high }: Estimate): boolean {
  return middle > 0 && (high - low) / middle <= SPREAD_MAX;
}

/** True if the ratio's interval excludes 1: the two differ by more than their noise. */
export function isDifferent({ low, high }: Interval): boolean {
  return low > 1 || high < 1;
}

/** `of` gets the indexes of one resample. */
function bootstrap(count: number, of: (pick: readonly number[]) => number | null): Estimate | null {
  if (count < ROUNDS_MIN || count > VALUES_MAX) return null;
  const random = randomNumbers();
  const all = Array.from({ length: count }, (_, at) => at);
  const resamples = Array.from(
    { length: resamplesOf(count) },
    () => of(all.map(() => Math.floor(random() * count))) ?? Number.NaN,
  );
  return toEstimate(of(all) ?? Number.NaN, resamples);
}

function resamplesOf(count: number): number {
  return Math.min(RESAMPLES, Math.floor(PICKS_MAX / count));
}

function toEstimate(middle: number, resamples: readonly number[]): Estimate | null {
  const sorted = resamples.filter(Number.isFinite).sort((one, other) => one - other);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
  const [low, high] = [at(TAIL), at(1 - TAIL)];
  return low === undefined || high === undefined || !Number.isFinite(middle) ? null : { median: middle, low, high };
}

/** Uniform numbers from 0 to 1, always the same ones (mulberry32). */
function randomNumbers(): () => number {
  let state = 0x9e3779b9;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
