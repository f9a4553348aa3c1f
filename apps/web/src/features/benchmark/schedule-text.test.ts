import { expect, test } from 'vitest';
import { scheduleText, zoneChoices } from './schedule-text.ts';

test('a schedule is said in two words', () => {
  expect(scheduleText({ weekday: null, hour: 3 })).toBe('Daily 03:00');
  expect(scheduleText({ weekday: 1, hour: 0 })).toBe('Monday 00:00');
  expect(scheduleText({ weekday: 7, hour: 23 })).toBe('Sunday 23:00');
});

test('zones are offered once each, the scheduled one first', () => {
  expect(zoneChoices('Europe/Berlin', undefined)).toEqual(['Europe/Berlin', 'UTC']);
  expect(zoneChoices('UTC', 'Asia/Kolkata')).toEqual(['Asia/Kolkata', 'UTC']);
});
