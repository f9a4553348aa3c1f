// Reads days of a date range from a URL. Pure.
import { fromWallClock } from '@fairlead/ui/lib/time-zone';

const DAY_MS = 24 * 60 * 60 * 1000;

export interface DayRange {
  readonly from?: Date;
  readonly to?: Date;
}

/** Days are in the viewer's time zone, and the last one is inclusive. Drops texts that are no day. */
export function dayRange(from: string, to: string, timeZone: string): DayRange {
  const start = startOfDay(from, timeZone);
  const end = startOfDay(dayAfter(to), timeZone);
  return { ...(start === null ? {} : { from: start }), ...(end === null ? {} : { to: end }) };
}

export function startOfDay(day: string, timeZone: string): Date | null {
  return /^\d{4}-\d\d-\d\d$/.test(day) ? fromWallClock(`${day}T00:00`, timeZone) : null;
}

/** A day on which the clock changes has 23 or 25 hours, so this counts in the calendar. */
function dayAfter(day: string): string {
  const startMs = startOfDay(day, 'UTC')?.getTime();
  return startMs === undefined ? '' : new Date(startMs + DAY_MS).toISOString().slice(0, 10);
}
