// Converts between moments and the wall clock of a time zone. Pure.

let last: { readonly timeZone: string; readonly formatter: Intl.DateTimeFormat } | null = null;

/** Formatters are slow to make, and a page has one zone. */
function formatterOf(timeZone: string): Intl.DateTimeFormat {
  if (last?.timeZone !== timeZone) {
    last = { timeZone, formatter: new Intl.DateTimeFormat('en', { timeZone, timeZoneName: 'shortOffset' }) };
  }
  return last.formatter;
}

/** Returns the zone's offset from UTC at a moment as `UTC+5:30`, and none as `UTC`. */
export function zoneOffset(at: number, timeZone: string): string {
  const parts = formatterOf(timeZone).formatToParts(at);
  const name = parts.find(({ type }) => type === 'timeZoneName')?.value ?? '';
  return name.replace('GMT', 'UTC').replace(/\+0$/, '');
}

/** Returns the zone's offset from UTC at a moment in milliseconds. */
export function zoneOffsetMs(at: number, timeZone: string): number {
  const [, sign, hours, minutes] = /([+-])(\d+)(?::(\d+))?/.exec(zoneOffset(at, timeZone)) ?? [];
  const ms = (Number(hours ?? 0) * 60 + Number(minutes ?? 0)) * 60_000;
  return sign === '-' ? -ms : ms;
}

/** Returns the wall clock at a moment as date fields have it, such as `2026-11-28T15:05:56`. */
export function toWallClock(at: Date, timeZone: string): string {
  return new Date(at.getTime() + zoneOffsetMs(at.getTime(), timeZone)).toISOString().slice(0, 19);
}

/**
 * Reads a wall clock such as `2026-11-28T15:05`; null if it is none. A time that the clock skips is moved past the gap,
 * so that a day without a midnight starts when its first hour does.
 */
export function fromWallClock(text: string, timeZone: string): Date | null {
  const wallMs = Date.parse(`${text}Z`);
  if (Number.isNaN(wallMs)) return null;
  const guess = wallMs - zoneOffsetMs(wallMs, timeZone);
  const corrected = wallMs - zoneOffsetMs(guess, timeZone);
  const isSkipped = zoneOffsetMs(corrected, timeZone) !== wallMs - corrected;
  return new Date(isSkipped ? Math.max(guess, corrected) : corrected);
}
