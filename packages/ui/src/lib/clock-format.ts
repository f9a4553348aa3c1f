// Formats times of charts and logs in the viewer's locale and time zone. Pure.
import { formatterOf } from './time-format.ts';

export type ClockFormats = ReturnType<typeof clockFormats>;

const CLOCK = { hour: 'numeric', minute: '2-digit' } as const;
const DAY = { day: 'numeric', month: 'short' } as const;

/** Returns the formats of a locale and zone. */
export function clockFormats(locale: string, timeZone: string) {
  return {
    formatShortDay: formatterOf(locale, { ...DAY, timeZone }),
    formatClock: formatterOf(locale, { ...CLOCK, timeZone }),
    formatClockSeconds: formatterOf(locale, { ...CLOCK, second: '2-digit', timeZone }),
    formatShortTime: formatterOf(locale, { ...DAY, ...CLOCK, timeZone }),
    /** Formats the time of a log line with milliseconds; with 24 hours, so that all are as wide. */
    formatLogTime: formatterOf(locale, {
      month: 'short',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
      fractionalSecondDigits: 3,
      hourCycle: 'h23',
      timeZone,
    }),
  };
}

/** Formats the time of a log line in UTC, for its title. */
export function formatLogTimeUtc(unixMs: number): string {
  return `${new Date(unixMs).toISOString().slice(0, 23).replace('T', ' ')} UTC`;
}
