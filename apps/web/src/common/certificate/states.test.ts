import { expect, test } from 'vitest';
import { certificateState, formatDaysLeft } from './states.ts';

const now = Date.parse('2026-11-26T12:00:00Z');
const inDays = (days: number) => new Date(now + days * 86_400_000);

test.each([
  [inDays(42.9), '42 days'],
  [inDays(1.5), '1 day'],
  [inDays(0.5), '0 days'],
  [inDays(-0.1), 'Expired'],
])('an end at %s is shown as %s', (notAfter, text) => expect(formatDaysLeft(notAfter, now)).toBe(text));

test('a valid certificate warns if its renewal failed, or if nobody renews it', () => {
  const facts = { state: 'issued', source: 'acme', notAfter: inDays(20), failure: null } as const;
  expect(certificateState(facts, now)).toEqual(['ok', 'Issued']);
  expect(certificateState({ ...facts, failure: {} }, now)).toEqual(['warn', 'Renewal failed']);
  expect(certificateState({ ...facts, notAfter: inDays(3) }, now)).toEqual(['ok', 'Issued']);
  expect(certificateState({ ...facts, source: 'upload', notAfter: inDays(14) }, now)).toEqual(['warn', 'Expires soon']);
  expect(certificateState({ ...facts, state: 'failed', notAfter: null }, now)).toEqual(['bad', 'Failed']);
});
