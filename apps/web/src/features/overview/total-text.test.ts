import { formatsOf } from '@fairlead/ui/formats';
import { expect, test } from 'vitest';
import { changeOfCount, changeOfShare, formatShare } from './total-text.ts';

const formats = formatsOf({ locale: 'en-US', timeZone: 'UTC' });

test('a share is a dash without data, and a small one is no zero', () => {
  expect(formatShare(null, formats)).toBe('–');
  expect(formatShare(0, formats)).toBe('0 %');
  expect(formatShare(0.00004, formats)).toBe('<0.01 %');
  expect(formatShare(0.0042, formats)).toBe('0.42 %');
});

test('a count changes in percent of the day before', () => {
  expect(changeOfCount({ current: 112, before: 100 }, formats)).toBe('+12 %');
  expect(changeOfCount({ current: 1, before: 4 }, formats)).toBe('−75 %');
  expect(changeOfCount({ current: 1001, before: 1000 }, formats)).toBe('+< 1 %');
  expect(changeOfCount({ current: 250_000, before: 100 }, formatsOf({ locale: 'de-DE', timeZone: 'UTC' }))).toBe(
    '+249.900 %',
  );
  expect(changeOfCount({ current: 5, before: 5 }, formats)).toBe('No change');
  expect(changeOfCount({ current: 5, before: 0 }, formats)).toBe('Up from 0');
  expect(changeOfCount({ current: 5, before: null }, formats)).toBeNull();
  expect(changeOfCount({ current: null, before: 5 }, formats)).toBeNull();
});

test('an error rate changes in percentage points', () => {
  expect(changeOfShare({ current: 0.0075, before: 0.005 }, formats)).toBe('+0.25 pp');
  expect(changeOfShare({ current: 0, before: 0.005 }, formats)).toBe('−0.5 pp');
  expect(changeOfShare({ current: 0, before: 0 }, formats)).toBe('No change');
  expect(changeOfShare({ current: 0, before: null }, formats)).toBeNull();
});
