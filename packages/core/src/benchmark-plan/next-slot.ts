// Slots of a schedule: one hour of each day, or of one weekday, on the clock of a time zone. Pure.

export interface ScheduleRule {
  /** 1 (Monday) to 7; null: every day. */
  readonly weekday: number | null;
  readonly hour: number;
  readonly timeZone: string;
}

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

/**
 * Returns the first slot after a moment. An hour that the clock skips is moved to the next one; an hour that comes twice has
 * one slot.
 */
export function nextSlot({ weekday, hour, timeZone }: ScheduleRule, after: Date): Date {
  const wallMs = after.getTime() + offsetMs(after.getTime(), timeZone);
  const midnightMs = Math.floor(wallMs / DAY_MS) * DAY_MS;
  // The second week is for a weekday that has passed today.
  for (let day = 0; day <= 8; day += 1) {
    const dayMs = midnightMs + day * DAY_MS;
    if (weekday !== null && (new Date(dayMs).getUTCDay() || 7) !== weekday) continue;
    const slotMs = toMoment(dayMs + hour * HOUR_MS, timeZone);
    if (slotMs > after.getTime()) return new Date(slotMs);
  }
  throw new RangeError('a schedule without a slot within eight days');
}

function toMoment(wallMs: number, timeZone: string): number {
  const guess = wallMs - offsetMs(wallMs, timeZone);
  const moment = wallMs - offsetMs(guess, timeZone);
  const isSkipped = moment + offsetMs(moment, timeZone) !== wallMs;
  return isSkipped ? Math.max(guess, moment) : moment;
}

/** Offset of the zone's clock from UTC at a moment. */
function offsetMs(at: number, timeZone: string): number {
  const parts = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  }).formatToParts(at);
  const of = (type: Intl.DateTimeFormatPartTypes) => Number(parts.find((part) => part.type === type)?.value);
  const wallMs = Date.UTC(of('year'), of('month') - 1, of('day'), of('hour'), of('minute'), of('second'));
  return wallMs - Math.floor(at / 1000) * 1000;
}
