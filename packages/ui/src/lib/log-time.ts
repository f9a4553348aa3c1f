// Times of log lines in the viewer's zone. Only the browser calls it: the server does not know that zone.

let formatter: Intl.DateTimeFormat | null = null;

/** Formats day and time with milliseconds, such as `Nov 28, 15:05:56.123`. */
export function formatLogTime(unixMs: number): string {
  formatter ??= new Intl.DateTimeFormat(undefined, {
    month: 'short',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    fractionalSecondDigits: 3,
    hourCycle: 'h23',
  });
  return formatter.format(unixMs);
}

/** Formats the same moment in UTC, for the title. */
export function formatLogTimeUtc(unixMs: number): string {
  return `${new Date(unixMs).toISOString().slice(0, 23).replace('T', ' ')} UTC`;
}

/** Returns the viewer's zone as its offset, such as `UTC+1`. */
export function zoneLabel(unixMs: number): string {
  const parts = new Intl.DateTimeFormat('en', { timeZoneName: 'shortOffset' }).formatToParts(unixMs);
  const name = parts.find(({ type }) => type === 'timeZoneName')?.value ?? 'GMT';
  return name.replace('GMT', 'UTC');
}
