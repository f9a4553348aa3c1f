// Words for the schedule of a saved plan. Pure.
import type { SavedPlan } from '../../api/types.ts';

export const weekdayLabels = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'] as const;

export function hourLabel(hour: number): string {
  return `${String(hour).padStart(2, '0')}:00`;
}

type Schedule = NonNullable<SavedPlan['schedule']>;

/** Returns `Daily 03:00` or `Monday 03:00`, on the clock of the schedule's zone. */
export function scheduleText({ weekday, hour }: Pick<Schedule, 'weekday' | 'hour'>): string {
  const day = weekday === null ? 'Daily' : (weekdayLabels[weekday - 1] ?? '');
  return `${day} ${hourLabel(hour)}`;
}

/** Offers the zone of the schedule, the reader's own, and UTC. */
export function zoneChoices(own: string, scheduled: string | undefined): string[] {
  return [...new Set([...(scheduled === undefined ? [] : [scheduled]), own, 'UTC'])];
}
