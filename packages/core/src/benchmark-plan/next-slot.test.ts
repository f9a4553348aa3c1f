import { expect, test } from 'vitest';
import { nextSlot, type ScheduleRule } from './next-slot.ts';

const berlin = (rule: Partial<ScheduleRule>): ScheduleRule => ({
  weekday: null,
  hour: 3,
  timeZone: 'Europe/Berlin',
  ...rule,
});
const after = (rule: ScheduleRule, at: string) => nextSlot(rule, new Date(at)).toISOString();

test('a daily slot follows the clock of its zone', () => {
  expect(after(berlin({}), '2026-11-29T01:59:59Z')).toBe('2026-11-29T02:00:00.000Z');
  expect(after(berlin({}), '2026-11-29T02:00:00Z')).toBe('2026-11-30T02:00:00.000Z');
  expect(after(berlin({}), '2026-07-01T00:00:00Z')).toBe('2026-07-01T01:00:00.000Z');
  expect(after(berlin({ timeZone: 'UTC' }), '2026-11-29T10:00:00Z')).toBe('2026-11-30T03:00:00.000Z');
  expect(after(berlin({ timeZone: 'Asia/Kolkata' }), '2026-11-29T00:00:00Z')).toBe('2026-11-29T21:30:00.000Z');
  expect(after(berlin({ timeZone: 'America/Los_Angeles', hour: 23 }), '2026-11-29T06:59:00Z')).toBe(
    '2026-11-29T07:00:00.000Z',
  );
});

test('a weekly slot is on its weekday in the zone', () => {
  // A Sunday.
  expect(after(berlin({ weekday: 7 }), '2026-11-29T01:00:00Z')).toBe('2026-11-29T02:00:00.000Z');
  expect(after(berlin({ weekday: 7 }), '2026-11-29T02:00:00Z')).toBe('2026-12-06T02:00:00.000Z');
  expect(after(berlin({ weekday: 1 }), '2026-11-29T02:00:00Z')).toBe('2026-11-30T02:00:00.000Z');
  expect(after(berlin({ weekday: 1, hour: 0 }), '2026-11-29T22:59:00Z')).toBe('2026-11-29T23:00:00.000Z');
});

test('a skipped hour moves, and a doubled hour has one slot', () => {
  expect(after(berlin({ hour: 2 }), '2026-03-28T12:00:00Z')).toBe('2026-03-29T01:00:00.000Z');
  expect(after(berlin({ hour: 2 }), '2026-03-29T01:00:00Z')).toBe('2026-03-30T00:00:00.000Z');
  const first = after(berlin({ hour: 2 }), '2026-10-24T12:00:00Z');
  expect(first).toBe('2026-10-25T01:00:00.000Z');
  expect(after(berlin({ hour: 2 }), first)).toBe('2026-10-26T01:00:00.000Z');
});
