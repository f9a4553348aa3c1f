// Selects the rows of a chart: a range's own resolution, and finer ones for the end that is not rolled up yet. Pure.
import { type MetricRange, type MetricResolution, metricRangePlans } from '@fairlead/contract/metrics';

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

export interface ChartWindow {
  readonly stepMs: number;
  readonly from: Date;
  /** Exclusive end of the last step, which may be still running. */
  readonly to: Date;
  readonly segments: readonly Segment[];
}

export function chartWindow(range: MetricRange, now: Date): ChartWindow {
  const { lengthMs, stepMs, resolution } = metricRangePlans[range];
  // Short steps are shown when they are whole; a running hour is better than an empty chart.
  const readUntil = now.getTime() - arrivalMs;
  const to = resolution === '1s' ? floor(readUntil, stepMs) : floor(readUntil, stepMs) + stepMs;
  const from = to - lengthMs;
  return {
    stepMs,
    from: new Date(from),
    to: new Date(to),
    segments: segmentsOf(resolution, from, Math.min(to, now.getTime()), now),
  };
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
