import { expect, test } from 'vitest';
import { clockFormats, formatLogTimeUtc } from './clock-format.ts';
import { formatUtc, timeFormats } from './time-format.ts';

const at = new Date('2026-11-28T15:05:56.123Z');
/** Intl puts a narrow space before AM and PM. */
const spaced = (text: string) => text.replaceAll('\u202f', ' ');

test('a time has the form of the locale and names the zone', () => {
  const english = timeFormats('en-US', 'UTC');
  expect(spaced(english.formatTime(at))).toBe('Nov 28, 2026, 3:05:56 PM UTC');
  expect(english.formatDay(at)).toBe('Nov 28, 2026');
  const german = timeFormats('de-DE', 'Asia/Kolkata');
  expect(german.formatTime(at)).toBe('28.11.2026, 20:35:56 GMT+5:30');
  expect(german.formatDay(new Date('2026-11-28T18:30:00Z'))).toBe('29.11.2026');
});

test('the exact time adds UTC, and an invalid date is empty', () => {
  const { formatExact, formatTime } = timeFormats('de-DE', 'Asia/Kolkata');
  expect(formatExact(at)).toBe('28.11.2026, 20:35:56 GMT+5:30\n2026-11-28 15:05:56 UTC');
  expect(formatUtc(at)).toBe('2026-11-28 15:05:56 UTC');
  expect([formatExact, formatTime, formatUtc].map((format) => format(new Date(Number.NaN)))).toEqual(['', '', '']);
});

test('times of logs have 24 hours and milliseconds', () => {
  expect(clockFormats('en-US', 'Asia/Kolkata').formatLogTime(at)).toBe('Nov 28, 20:35:56.123');
  expect(formatLogTimeUtc(at.getTime())).toBe('2026-11-28 15:05:56.123 UTC');
});

test('the digits are Latin and the calendar is that of ISO 8601 in every locale', () => {
  expect(timeFormats('th-TH', 'UTC').formatDay(at)).toContain('2026');
  expect(clockFormats('fa-IR', 'UTC').formatClock(at)).toBe('15:05');
});
