// Data of small multiples over concurrency: one panel for each condition, one line for each target, all on one scale.
// Pure.
import { niceScale, type Scale } from './ticks.ts';

/** Measurement of one cell. Repeats share panel, series and x. */
export interface Measurement {
  readonly panel: string;
  readonly series: string;
  readonly x: number;
  readonly value: number;
}

export interface Cell {
  readonly x: number;
  /** Median of the repeats. */
  readonly middle: number;
  /** Lowest and highest repeat, the bounds of the band. */
  readonly low: number;
  readonly high: number;
}

export interface Panel {
  readonly title: string;
  readonly lines: readonly { readonly series: string; readonly cells: readonly Cell[] }[];
}

export interface Multiples {
  readonly panels: readonly Panel[];
  readonly xs: readonly number[];
  readonly scale: Scale;
}

/**
 * Groups measurements. Panels and lines keep the order of their first appearance, so that a colour never changes while
 * results arrive.
 */
export function prepareMultiples(measurements: readonly Measurement[], base: 1000 | 1024 = 1000): Multiples {
  const panels = new Map<string, Map<string, Map<number, number[]>>>();
  const xs = new Set<number>();
  for (const { panel, series, x, value } of measurements) {
    if (!Number.isFinite(value)) continue;
    xs.add(x);
    const lines = getOrAdd(panels, panel, () => new Map<string, Map<number, number[]>>());
    const cells = getOrAdd(lines, series, () => new Map<number, number[]>());
    getOrAdd(cells, x, () => []).push(value);
  }
  const drawn = [...panels].map(([title, lines]) => ({
    title,
    lines: [...lines].map(([series, cells]) => ({
      series,
      cells: [...cells].map(([x, values]) => summarise(x, values)).sort((left, right) => left.x - right.x),
    })),
  }));
  const peak = Math.max(
    0,
    ...drawn.flatMap((panel) => panel.lines.flatMap((line) => line.cells.map((cell) => cell.high))),
  );
  return { panels: drawn, xs: [...xs].sort((left, right) => left - right), scale: niceScale(peak, 4, base) };
}

function summarise(x: number, values: readonly number[]): Cell {
  const sorted = [...values].sort((left, right) => left - right);
  return { x, middle: median(sorted), low: sorted[0] ?? 0, high: sorted.at(-1) ?? 0 };
}

/** Returns the median of sorted values; the mean of the middle two for an even number. */
export function median(sorted: readonly number[]): number {
  const half = sorted.length >> 1;
  const upper = sorted[half] ?? 0;
  return sorted.length % 2 === 1 ? upper : ((sorted[half - 1] ?? upper) + upper) / 2;
}

export interface EndLabel {
  readonly series: string;
  /** Position from 0 at the top to 1 at the bottom of the plot. */
  readonly top: number;
}

/** Returns labels beside the last point of each line, moved apart until none overlap. */
export function endLabels(panel: Panel, max: number, minGap: number): EndLabel[] {
  const wanted = panel.lines
    .flatMap((line) => {
      const last = line.cells.at(-1);
      return last === undefined ? [] : [{ series: line.series, top: 1 - last.middle / max }];
    })
    .sort((left, right) => left.top - right.top);
  const placed: EndLabel[] = [];
  for (const label of wanted) {
    const before = placed.at(-1);
    placed.push({ ...label, top: before === undefined ? label.top : Math.max(label.top, before.top + minGap) });
  }
  // Second pass upwards: a label that moved below the plot pushes the others up again.
  let limit = 1;
  return placed
    .reverse()
    .map((label) => {
      const top = Math.min(label.top, limit);
      limit = top - minGap;
      return { ...label, top: Math.max(0, top) };
    })
    .reverse();
}

function getOrAdd<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
  const found = map.get(key);
  if (found !== undefined) return found;
  const made = make();
  map.set(key, made);
  return made;
}
