// Reads days of a date range from a URL. Pure.

const DAY_MS = 24 * 60 * 60 * 1000;

export interface DayRange {
  readonly from?: Date;
  readonly to?: Date;
}

/** Days are in UTC, and the last one is inclusive. Drops texts that are no day. */
export function dayRange(from: string, to: string): DayRange {
  const start = dayOf(from);
  const end = dayOf(to);
  return {
    ...(start === null ? {} : { from: start }),
    ...(end === null ? {} : { to: new Date(end.getTime() + DAY_MS) }),
  };
}

function dayOf(text: string): Date | null {
  const day = /^\d{4}-\d\d-\d\d$/.test(text) ? new Date(`${text}T00:00:00Z`) : null;
  return day === null || Number.isNaN(day.getTime()) ? null : day;
}
