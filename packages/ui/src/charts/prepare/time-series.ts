// From samples to what a time chart draws: gaps where nothing was measured, a scale, the value under the cursor. Pure.
import { niceScale, type Scale } from './ticks.ts';

/** One instant with its values by series; null where nothing was measured. */
export interface TimeRow {
  readonly at: number;
  readonly values: Readonly<Record<string, number | null>>;
}

/** Missing time is a gap and never a line across it: a row of nulls is set after the last sample before the gap. */
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

/** Times at which a series has a value and neither neighbour has one: no line reaches them, so each needs a dot. */
export function loneTimes(rows: readonly TimeRow[], key: string): ReadonlySet<number> {
  const has = (row: TimeRow | undefined) => (row?.values[key] ?? null) !== null;
  return new Set(
    rows.filter((row, index) => has(row) && !has(rows[index - 1]) && !has(rows[index + 1])).map(({ at }) => at),
  );
}

/** One scale over all series of a chart. A floor keeps a flat, tiny series from filling the chart with its noise. */
export function scaleOf(rows: readonly TimeRow[], keys: readonly string[], base: 1000 | 1024, floor = 0): Scale {
  let peak = floor;
  for (const row of rows) {
    for (const key of keys) {
      const value = row.values[key];
      if (value !== null && value !== undefined && value > peak) peak = value;
    }
  }
  return niceScale(peak, 3, base);
}

/** The row nearest to a time, or null when none is within reach: a cursor in a gap shows nothing. */
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

/** Where a time lies in a span, from 0 to 1; null outside of it. */
export function fractionOf(at: number, from: number, to: number): number | null {
  if (!(to > from) || at < from || at > to) return null;
  return (at - from) / (to - from);
}

/** Live samples join what was loaded: one row a step, the newest value of a step wins, what left the span is dropped. */
export function appendRow(rows: readonly TimeRow[], row: TimeRow, stepMs: number, from: number): TimeRow[] {
  const at = Math.floor(row.at / stepMs) * stepMs;
  const kept = rows.filter((each) => each.at >= from && each.at !== at);
  const next = { at, values: row.values };
  const last = kept.at(-1);
  if (last === undefined || last.at < at) return [...kept, next];
  return [...kept, next].sort((left, right) => left.at - right.at);
}
