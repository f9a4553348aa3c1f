// Selects the rows of a chart: a range's own resolution, and finer ones for the end that is not rolled up yet. Pure.
import {
  type MetricRange,
  type MetricRangePlan,
  type MetricResolution,
  metricPeriodPlans,
  metricRangePlans,
  metricRetentionMs,
} from '@fairlead/contract/metrics';

/** Minutes are rolled up a little after their end, by a job that runs every minute. */
const minuteLagMs = 3 * 60_000;
/** The job refreshes the running hour every ten minutes, so its final row comes a while after its end. */
const hourLagMs = 15 * 60_000;
/** A sample needs its second, the link and the database before it can be read. */
const arrivalMs = 2000;

export interface Segment {
  readonly resolution: MetricResolution;
  readonly from: Date;
  /** Exclusive. */
  readonly until: Date;
}

/** Period of a chart: a range that ends now, or the time between two moments, which come together. */
export interface Period {
  readonly range?: MetricRange | undefined;
  readonly from?: Date | undefined;
  readonly to?: Date | undefined;
  /** True: the period of the same length right before it. */
  readonly previous?: boolean | undefined;
}

export interface ChartWindow {
  readonly stepMs: number;
  readonly resolution: MetricResolution;
  readonly from: Date;
  /** Exclusive end of the last step, which may be still running. */
  readonly to: Date;
  readonly segments: readonly Segment[];
}

const defaultRange: MetricRange = '1h';

export function chartWindow(period: Period, now: Date): ChartWindow {
  const { lengthMs, stepMs, resolution } = planOf(period, now);
  // Short steps are shown when they are whole; a running hour is better than an empty chart.
  const readUntil = now.getTime() - arrivalMs;
  const newest = resolution === '1s' ? floor(readUntil, stepMs) : floor(readUntil, stepMs) + stepMs;
  const end = period.to === undefined ? newest : Math.min(newest, -floor(-period.to.getTime(), stepMs));
  const start =
    period.from === undefined ? end - lengthMs : Math.min(floor(period.from.getTime(), stepMs), end - stepMs);
  const shift = period.previous === true ? end - start : 0;
  const [from, to] = [start - shift, end - shift];
  return {
    stepMs,
    resolution,
    from: new Date(from),
    to: new Date(to),
    segments: segmentsOf(resolution, from, Math.min(to, now.getTime()), now),
  };
}

function planOf({ range, from, to, previous }: Period, now: Date): MetricRangePlan {
  if (from === undefined || to === undefined) return metricRangePlans[range ?? defaultRange];
  const lengthMs = to.getTime() - from.getTime();
  const ageMs = now.getTime() - from.getTime() + (previous === true ? lengthMs : 0);
  const plan = metricPeriodPlans.find(
    (each) => lengthMs <= each.lengthMs && (ageMs <= metricRetentionMs[each.resolution] || each.resolution === '1h'),
  );
  return plan ?? metricRangePlans['30d'];
}

/**
 * Returns the rows of a sum over a window. A sum needs no steps, so rows of whole hours or minutes do, with finer ones
 * for the parts before the first and after the last of them.
 */
export function sumSegments({ resolution, from, to }: ChartWindow, now: Date): Segment[] {
  const [coarse, unitMs] = resolution === '1s' ? (['1m', 60_000] as const) : (['1h', 3_600_000] as const);
  const fine = coarse === '1m' ? '1s' : '1m';
  const start = from.getTime();
  const until = Math.min(to.getTime(), now.getTime());
  const first = Math.min(-floor(-start, unitMs), until);
  const last = Math.max(first, floor(until, unitMs));
  return [
    ...segmentsOf(fine, start, first, now),
    ...segmentsOf(coarse, first, last, now),
    ...segmentsOf(fine, last, until, now),
  ];
}

export function segmentsOf(resolution: MetricResolution, from: number, until: number, now: Date): Segment[] {
  const minutesUntil = clamp(floor(now.getTime() - minuteLagMs, 60_000), from, until);
  const hoursUntil = clamp(floor(now.getTime() - hourLagMs, 3_600_000), from, until);
  const cuts: Record<MetricResolution, readonly [MetricResolution, number, number][]> = {
    '1s': [['1s', from, until]],
    '1m': [
      ['1m', from, minutesUntil],
      ['1s', minutesUntil, until],
    ],
    '1h': [
      ['1h', from, hoursUntil],
      ['1m', hoursUntil, Math.max(hoursUntil, minutesUntil)],
      ['1s', Math.max(hoursUntil, minutesUntil), until],
    ],
  };
  return cuts[resolution]
    .filter(([, start, end]) => start < end)
    .map(([name, start, end]) => ({ resolution: name, from: new Date(start), until: new Date(end) }));
}

/** Returns the elapsed seconds of a step; a running step counts its elapsed part only. */
export function elapsedSeconds(stepStartMs: number, stepMs: number, now: Date): number {
  return Math.max(1000, Math.min(stepMs, now.getTime() - stepStartMs)) / 1000;
}

function floor(value: number, unit: number): number {
  return Math.floor(value / unit) * unit;
}

function clamp(value: number, least: number, most: number): number {
  return Math.min(Math.max(value, least), most);
}
