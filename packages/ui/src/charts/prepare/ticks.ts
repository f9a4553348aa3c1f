// Ticks and labels of axes at round values. Pure.
import type { ClockFormats } from '../../lib/clock-format.ts';

const STEPS = [1, 2, 2.5, 5, 10] as const;

export interface Scale {
  readonly max: number;
  readonly ticks: readonly number[];
}

/**
 * Returns a scale from zero with about `wanted` steps that ends at or above the peak. `base` is 1000 for counts, 1024
 * for bytes.
 */
export function niceScale(peak: number, wanted = 3, base: 1000 | 1024 = 1000): Scale {
  if (!Number.isFinite(peak) || peak <= 0) return { max: 1, ticks: [0, 1] };
  const unit = base === 1024 ? 1024 ** Math.floor(Math.log(peak) / Math.log(1024)) : 1;
  const raw = peak / unit / wanted;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = (STEPS.find((candidate) => candidate * power >= raw * 0.999) ?? 10) * power * unit;
  const count = Math.max(1, Math.ceil((peak / step) * 0.9999));
  const ticks = Array.from({ length: count + 1 }, (_, index) => tidy(index * step));
  return { max: tidy(count * step), ticks };
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const TIME_STEPS = [
  30 * SECOND,
  MINUTE,
  2 * MINUTE,
  5 * MINUTE,
  10 * MINUTE,
  15 * MINUTE,
  30 * MINUTE,
  HOUR,
  2 * HOUR,
  3 * HOUR,
  4 * HOUR,
  6 * HOUR,
  12 * HOUR,
  DAY,
  2 * DAY,
  7 * DAY,
];

/** Returns ticks on whole minutes, hours or days between two times; `offsetMs` is the zone's offset from UTC. */
export function timeTicks(from: number, to: number, wanted: number, offsetMs = 0): number[] {
  if (!(to > from) || wanted < 1) return [];
  const step = TIME_STEPS.find((candidate) => (to - from) / candidate <= wanted) ?? 7 * DAY;
  const first = Math.ceil((from + offsetMs) / step) * step - offsetMs;
  const ticks: number[] = [];
  for (let at = first; at <= to; at += step) ticks.push(at);
  return ticks;
}

/** Formats a tick as `14:05`, or `20 Nov` when the ticks are a day or more apart. */
export function timeLabel(at: number, spanMs: number, formats: ClockFormats): string {
  return spanMs > 2 * DAY ? formats.formatShortDay(at) : formats.formatClock(at);
}

/** Formats the cursor's time: with seconds for a span of up to two hours, with the date for a longer one. */
export function cursorLabel(at: number, spanMs: number, formats: ClockFormats): string {
  return spanMs <= 2 * HOUR ? formats.formatClockSeconds(at) : formats.formatShortTime(at);
}

/** Rounds off floating-point noise such as 0.30000000000000004 from repeated addition. */
function tidy(value: number): number {
  return Number(value.toPrecision(12));
}
