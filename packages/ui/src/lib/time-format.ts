// Formats moments in the viewer's locale and time zone. Pure, so that server and browser render the same text.
import { plainLocale } from './format.ts';

export type TimeFormats = ReturnType<typeof timeFormats>;

/** Returns the time formats of a locale and zone. */
export function timeFormats(locale: string, timeZone: string) {
  const formatTime = formatterOf(locale, { dateStyle: 'medium', timeStyle: 'long', timeZone });
  return {
    timeZone,
    /** Formats day, time and zone. */
    formatTime,
    /** Formats the time as `formatTime` does and in UTC, for the title of a relative time. */
    formatExact: (at: Date) => [formatTime(at), formatUtc(at)].filter(Boolean).join('\n'),
    /** Formats the day with its year. */
    formatDay: formatterOf(locale, { dateStyle: 'medium', timeZone }),
  };
}

/** Returns a function that formats with its own formatter, made at the first use because it is slow to make. */
export function formatterOf(locale: string, options: Intl.DateTimeFormatOptions) {
  let formatter: Intl.DateTimeFormat | undefined;
  return (at: Date | number): string => {
    if (Number.isNaN(Number(at))) return '';
    formatter ??= new Intl.DateTimeFormat(plainLocale(locale), options);
    return formatter.format(at);
  };
}

export function formatUtc(at: Date): string {
  return Number.isNaN(at.getTime()) ? '' : `${at.toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}
