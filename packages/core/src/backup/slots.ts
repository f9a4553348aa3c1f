// Times of scheduled backups.
import type { Schedule } from '@fairlead/settings';

/** Returns the latest time of the schedule that has come. */
export function lastSlot({ periodMs, offsetMs }: Schedule, now: Date): Date {
  return new Date(Math.floor((now.getTime() - offsetMs) / periodMs) * periodMs + offsetMs);
}

export function nextSlot(schedule: Schedule, now: Date): Date {
  return new Date(lastSlot(schedule, now).getTime() + schedule.periodMs);
}
