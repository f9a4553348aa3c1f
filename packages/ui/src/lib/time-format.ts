// Formats moments in the viewer's locale and time zone. Pure, so that server and browser render the same text.
import { plainLocale } from './format.ts';

export type TimeFormats = ReturnType<typeof timeFormats>;

/** Returns the time formats of a locale and zone. Most pages use few, so each is made at its first use. */
export function timeFormats(locale: string, timeZone: string) {
  const formatters = new Map<string, Intl.DateTimeFormat>();

  function formatterOf(name: keyof typeof PARTS): Intl.DateTimeFormat {
    let formatter = formatters.get(name);
    if (formatter === undefined) {
      formatter = new Intl.DateTimeFormat(plainLocale(locale), { ...PARTS[name], timeZone });
      formatters.set(name, formatter);
    }
    return formatter;
  }

  const formatWith = (name: keyof typeof PARTS) => (at: Date | number) =>
    Number.isNaN(Number(at)) ? '' : formatterOf(name).format(at);

  const formatTime = formatWith('time');

  return {
    timeZone,
    /** Formats day, time and zone. */
    formatTime,
    /** Formats the time as `formatTime` does and in UTC, for the title of a relative time. */
    formatExact: (at: Date) => [formatTime(at), formatUtc(at)].filter(Boolean).join('\n'),
    /** Formats the day with its year. */
    formatDay: formatWith('day'),
    /** Formats the day of a chart's axis. */
    formatShortDay: formatWith('shortDay'),
    formatClock: formatWith('clock'),
    formatClockSeconds: formatWith('clockSeconds'),
    formatShortTime: formatWith('shortTime'),
    /** Formats the time of a log line with milliseconds; with 24 hours, so that all are as wide. */
    formatLogTime: formatWith('logTime'),
  };
}

const CLOCK = { hour: 'numeric', minute: '2-digit' } as const;
const SHORT_DAY = { day: 'numeric', month: 'short' } as const;

const PARTS = {
  time: { dateStyle: 'medium', timeStyle: 'long' },
  day: { dateStyle: 'medium' },
  shortDay: SHORT_DAY,
  clock: CLOCK,
  clockSeconds: { ...CLOCK, second: '2-digit' },
  shortTime: { ...SHORT_DAY, ...CLOCK },
  logTime: {
    month: 'short',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    fractionalSecondDigits: 3,
    hourCycle: 'h23',
  },
} as const satisfies Record<string, Intl.DateTimeFormatOptions>;

export function formatUtc(at: Date): string {
  return Number.isNaN(at.getTime()) ? '' : `${at.toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

/** Formats the time of a log line in UTC, for its title. */
export function formatLogTimeUtc(unixMs: number): string {
  return `${new Date(unixMs).toISOString().slice(0, 23).replace('T', ' ')} UTC`;
}
