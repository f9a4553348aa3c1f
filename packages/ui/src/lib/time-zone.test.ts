import { expect, test } from 'vitest';
import { fromWallClock, toWallClock, zoneOffset, zoneOffsetMs } from './time-zone.ts';

const HOUR = 3_600_000;
const november = Date.UTC(2026, 10, 28);

test.each([
  ['UTC', 'UTC', 0],
  ['Asia/Kolkata', 'UTC+5:30', 5.5],
  ['America/St_Johns', 'UTC-3:30', -3.5],
  ['Europe/Berlin', 'UTC+1', 1],
])('the offset of %s reads %s', (timeZone, text, hours) => {
  expect(zoneOffset(november, timeZone)).toBe(text);
  expect(zoneOffsetMs(november, timeZone)).toBe(hours * HOUR);
});

test('a wall clock is read as it was written', () => {
  for (const timeZone of ['UTC', 'Asia/Kolkata', 'America/St_Johns', 'Europe/Berlin', 'Pacific/Kiritimati']) {
    for (let at = Date.UTC(2026, 0, 1); at < Date.UTC(2027, 0, 1); at += 53 * HOUR) {
      const text = toWallClock(new Date(at), timeZone);
      expect(toWallClock(fromWallClock(text, timeZone) ?? new Date(0), timeZone)).toBe(text);
    }
  }
  expect(fromWallClock('2026-11-28T15:05', 'Asia/Kolkata')).toEqual(new Date('2026-11-28T09:35:00Z'));
  expect(fromWallClock('', 'UTC')).toBeNull();
  expect(fromWallClock('soon', 'UTC')).toBeNull();
});

test.each([
  ['2026-03-29T00:00', 'Europe/Berlin', '2026-03-28T23:00:00Z'],
  ['2026-03-30T00:00', 'Europe/Berlin', '2026-03-29T22:00:00Z'],
  ['2026-10-26T00:00', 'Europe/Berlin', '2026-10-25T23:00:00Z'],
  // There is no 02:30 that day: the clock goes from 02:00 to 03:00.
  ['2026-03-29T02:30', 'Europe/Berlin', '2026-03-29T01:30:00Z'],
  // There is no midnight that day: the clock goes from 24:00 to 01:00.
  ['2026-09-06T00:00', 'America/Santiago', '2026-09-06T04:00:00Z'],
  ['2026-04-24T00:00', 'Africa/Cairo', '2026-04-23T22:00:00Z'],
])('%s in %s is %s, on a day on which the clock changes', (text, timeZone, moment) => {
  expect(fromWallClock(text, timeZone)).toEqual(new Date(moment));
});
