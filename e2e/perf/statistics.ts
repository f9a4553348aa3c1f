// Medians and their intervals. Pure.

export interface Interval {
  readonly median: number;
  readonly low: number;
  readonly high: number;
}

/** z of a 95 % interval. */
const Z = 1.96;

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const [low, high] = [sorted[(sorted.length - 1) >> 1], sorted[sorted.length >> 1]];
  return ((low ?? Number.NaN) + (high ?? Number.NaN)) / 2;
}

/** Median with its 95 % interval by order statistics (binomial, normal approximation): no distribution is assumed. */
export function medianInterval(values: readonly number[]): Interval {
  const sorted = values.toSorted((a, b) => a - b);
  const spread = (Z * Math.sqrt(sorted.length)) / 2;
  const at = (rank: number) => sorted[Math.min(sorted.length - 1, Math.max(0, rank))] ?? Number.NaN;
  return {
    median: median(sorted),
    low: at(Math.floor(sorted.length / 2 - spread)),
    high: at(Math.ceil(sorted.length / 2 + spread) - 1),
  };
}

export interface RatioInterval {
  readonly ratio: number;
  readonly low: number;
  readonly high: number;
}

const RESAMPLES = 2_000;

/**
 * Ratio of the medians of paired rounds, with its 95 % percentile bootstrap interval. Resamples whole rounds, because the
 * noise of one round affects both sides. The seed is fixed, so equal figures give equal intervals.
 */
export function ratioInterval(ours: readonly number[], theirs: readonly number[]): RatioInterval {
  if (ours.length !== theirs.length || ours.length === 0) throw new Error('a ratio needs pairs of figures');
  const random = seededRandom(1);
  const ratios = Array.from({ length: RESAMPLES }, () => {
    const rounds = ours.map(() => Math.floor(random() * ours.length));
    const pick = (values: readonly number[]) => median(rounds.map((round) => values[round] ?? Number.NaN));
    return pick(ours) / pick(theirs);
  }).toSorted((a, b) => a - b);
  const at = (share: number) => ratios[Math.round(share * (RESAMPLES - 1))] ?? Number.NaN;
  return { ratio: median(ours) / median(theirs), low: at(0.025), high: at(0.975) };
}

/** Pseudorandom numbers from 0 to 1 (mulberry32). */
function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
