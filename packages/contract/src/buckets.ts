// Arithmetic of latency histograms: buckets, merging, quantiles. Free of protobuf, because the browser merges live
// samples with it.

/** Counts by bucket index. `sumUs` is exact, so a mean is exact too. */
export interface Histogram {
  readonly counts: ReadonlyMap<number, number>;
  readonly sumUs: number;
}

const linearBelow = 32;
const valueMaxUs = 2 ** 36 - 1;
export const bucketsMax = bucketIndex(valueMaxUs) + 1;

export const emptyHistogram: Histogram = { counts: new Map(), sumUs: 0 };

/** The bucket of a latency. Values above 19 h are capped. */
export function bucketIndex(us: number): number {
  const value = Math.min(Math.max(Math.trunc(us), 0), valueMaxUs);
  if (value < linearBelow) return value;
  // Division instead of shifts: values go past 32 bits.
  const exponent = Math.floor(Math.log2(value));
  // log2 of a double can round up to the next power for values just below it.
  const e = 2 ** exponent > value ? exponent - 1 : exponent;
  return (e - 4) * 16 + Math.floor(value / 2 ** (e - 4));
}

/** The smallest latency that falls into a bucket. */
export function bucketLowerUs(index: number): number {
  if (index < linearBelow) return index;
  const e = Math.floor(index / 16) + 3;
  return (index - (e - 4) * 16) * 2 ** (e - 4);
}

/** The smallest latency above a bucket. */
export function bucketUpperUs(index: number): number {
  if (index < linearBelow) return index + 1;
  return bucketLowerUs(index) + 2 ** (Math.floor(index / 16) - 1);
}

/** Adds histograms up. Order does not matter. What would not be exact any more stays at the largest exact number. */
export function mergeHistograms(histograms: Iterable<Histogram>): Histogram {
  const counts = new Map<number, number>();
  let sumUs = 0;
  for (const histogram of histograms) {
    sumUs = add(sumUs, histogram.sumUs);
    for (const [index, count] of histogram.counts) counts.set(index, add(counts.get(index) ?? 0, count));
  }
  return { counts, sumUs };
}

function add(a: number, b: number): number {
  return Math.min(a + b, Number.MAX_SAFE_INTEGER);
}

export function histogramCount(histogram: Histogram): number {
  let total = 0;
  for (const count of histogram.counts.values()) total += count;
  return total;
}

/** Returns the q-quantile (0 to 1) as the middle of its bucket; null if the histogram is empty. */
export function quantileUs(histogram: Histogram, q: number): number | null {
  const total = histogramCount(histogram);
  if (total === 0) return null;
  const rank = Math.max(1, Math.ceil(q * total));
  let seen = 0;
  for (const index of [...histogram.counts.keys()].sort((a, b) => a - b)) {
    seen += histogram.counts.get(index) ?? 0;
    if (seen >= rank) return Math.floor((bucketLowerUs(index) + bucketUpperUs(index) - 1) / 2);
  }
  return null;
}

/** `quantileUs` in milliseconds, as charts show it. */
export function quantileMs(histogram: Histogram, q: number): number | null {
  const us = quantileUs(histogram, q);
  return us === null ? null : us / 1000;
}

/** A histogram in JSON: pairs of bucket index and count, one after the other. */
export function histogramToPairs({ counts }: Histogram): number[] {
  return [...counts].flat();
}

/** Returns the quantiles that are shown together, in milliseconds: of one histogram, so that they never contradict. */
export function latencyOfPairs(
  samples: Iterable<readonly number[]>,
): Record<'p50Ms' | 'p95Ms' | 'p99Ms', number | null> {
  const counts = new Map<number, number>();
  for (const pairs of samples) {
    for (let at = 0; at + 1 < pairs.length; at += 2) {
      const index = pairs[at] ?? 0;
      counts.set(index, add(counts.get(index) ?? 0, pairs[at + 1] ?? 0));
    }
  }
  const whole = { counts, sumUs: 0 };
  return { p50Ms: quantileMs(whole, 0.5), p95Ms: quantileMs(whole, 0.95), p99Ms: quantileMs(whole, 0.99) };
}
