// Small multiples over concurrency: one panel a condition, one line a target, the same scale in all of them. Pure.
import { niceScale, type Scale } from './ticks.ts';

/** One measured cell. Repeats share panel, series and x. */
export interface Measurement {
  readonly panel: string;
  readonly series: string;
  readonly x: number;
  readonly value: number;
}

export interface Cell {
  readonly x: number;
  /** The median of the repeats. */
  readonly middle: number;
  /** Lowest and highest repeat: the band in which the truth may lie. */
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

/** Panels and lines keep the order in which they first appear: a colour never moves while results come in. */
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

/** The middle of sorted values; the mean of the middle two when their number is even. */
export function median(sorted: readonly number[]): number {
  const half = sorted.length >> 1;
  const upper = sorted[half] ?? 0;
  return sorted.length % 2 === 1 ? upper : ((sorted[half - 1] ?? upper) + upper) / 2;
}

export interface EndLabel {
  readonly series: string;
  /** From 0 at the top to 1 at the bottom of the plot. */
  readonly top: number;
}

/** Direct labels beside the last point of each line, pushed apart until none covers another. */
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
  // What was pushed below the plot pulls the others up again.
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
