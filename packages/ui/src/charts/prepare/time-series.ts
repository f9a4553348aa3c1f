// Data of a time chart from samples: gaps, the scale, and the value under the cursor. Pure.
import { niceScale, type Scale } from './ticks.ts';

/** Values of all series at one time; null where nothing was measured. */
export interface TimeRow {
  readonly at: number;
  readonly values: Readonly<Record<string, number | null>>;
}

/** Adds a row of nulls after the last sample before missing time, so that no line crosses the gap. */
export function withGaps(rows: readonly TimeRow[], stepMs: number): TimeRow[] {
  const sorted = [...rows].sort((left, right) => left.at - right.at);
  const out: TimeRow[] = [];
  for (const row of sorted) {
    const before = out.at(-1);
    if (before !== undefined && row.at - before.at > stepMs * 2.5) {
      const empty = Object.fromEntries(Object.keys(row.values).map((key) => [key, null]));
      out.push({ at: before.at + stepMs, values: empty });
    }
    out.push(row);
  }
  return out;
}

/**
 * Returns times at which a series has a value and neither neighbour has one: no line reaches them, so each needs a dot.
 */
export function loneTimes(rows: readonly TimeRow[], key: string): ReadonlySet<number> {
  const has = (row: TimeRow | undefined) => (row?.values[key] ?? null) !== null;
  return new Set(
    rows.filter((row, index) => has(row) && !has(rows[index - 1]) && !has(rows[index + 1])).map(({ at }) => at),
  );
}

/**
 * Returns one scale over all series of a chart, and over the sum of those that are stacked. A floor keeps a flat, tiny
 * series from filling the chart with noise.
 */
export function scaleOf(
  rows: readonly TimeRow[],
  keys: readonly string[],
  base: 1000 | 1024,
  floor = 0,
  stacked: readonly string[] = [],
): Scale {
  let peak = floor;
  for (const row of rows) {
    const sum = stacked.reduce((total, key) => total + (row.values[key] ?? 0), 0);
    peak = Math.max(peak, sum, ...keys.map((key) => row.values[key] ?? 0));
  }
  return niceScale(peak, 3, base);
}

/** Returns the row nearest to a time; null if none is within reach, as in a gap. */
export function nearestRow(rows: readonly TimeRow[], at: number, withinMs: number): TimeRow | null {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((rows[middle]?.at ?? 0) < at) low = middle + 1;
    else high = middle;
  }
  const [left, right] = [rows[low - 1], rows[low]];
  const nearest = left === undefined || (right !== undefined && right.at - at <= at - left.at) ? (right ?? null) : left;
  return nearest !== null && Math.abs(nearest.at - at) <= withinMs ? nearest : null;
}

/** Returns the position of a time in a span, from 0 to 1; null outside of it. */
export function fractionOf(at: number, from: number, to: number): number | null {
  if (!(to > from) || at < from || at > to) return null;
  return (at - from) / (to - from);
}

/** Returns a span around a time that is `factor` as long, at least ten seconds and not beyond now. */
export function zoomed(
  span: { readonly from: number; readonly to: number },
  at: number,
  factor: number,
  now: number,
): { from: number; to: number } {
  const length = Math.max(10_000, (span.to - span.from) * factor);
  // The time under the cursor stays where it is.
  const share = (at - span.from) / (span.to - span.from);
  const from = Math.round(Math.min(at - share * length, now - length));
  return { from, to: from + Math.round(length) };
}

/** Adds the values of an earlier period to the rows of the same steps, `shiftMs` later, under `before:` and their key. */
export function withPrevious(
  rows: readonly TimeRow[],
  previous: readonly TimeRow[],
  keys: readonly string[],
  stepMs: number,
  shiftMs: number,
): TimeRow[] {
  const stepOf = (at: number) => Math.floor(at / stepMs);
  const earlier = new Map(previous.map((row) => [stepOf(row.at + shiftMs), row.values]));
  return rows.map((row) => {
    const values = earlier.get(stepOf(row.at));
    const before = keys.map((key) => [previousKey(key), values?.[key] ?? null] as const);
    return { at: row.at, values: { ...row.values, ...Object.fromEntries(before) } };
  });
}

export function previousKey(key: string): string {
  return `before:${key}`;
}
