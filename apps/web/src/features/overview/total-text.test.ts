import { expect, test } from 'vitest';
import { changeOfCount, changeOfShare, formatShare } from './total-text.ts';

test('a share is a dash without data, and a small one is no zero', () => {
  expect(formatShare(null)).toBe('–');
  expect(formatShare(0)).toBe('0 %');
  expect(formatShare(0.00004)).toBe('<0.01 %');
  expect(formatShare(0.0042)).toBe('0.42 %');
});

test('a count changes in percent of the day before', () => {
  expect(changeOfCount({ current: 112, before: 100 })).toBe('+12 %');
  expect(changeOfCount({ current: 1, before: 4 })).toBe('−75 %');
  expect(changeOfCount({ current: 1001, before: 1000 })).toBe('+< 1 %');
  expect(changeOfCount({ current: 5, before: 5 })).toBe('No change');
  expect(changeOfCount({ current: 5, before: 0 })).toBe('Up from 0');
  expect(changeOfCount({ current: 5, before: null })).toBeNull();
  expect(changeOfCount({ current: null, before: 5 })).toBeNull();
});

test('an error rate changes in percentage points', () => {
  expect(changeOfShare({ current: 0.0075, before: 0.005 })).toBe('+0.25 pp');
  expect(changeOfShare({ current: 0, before: 0.005 })).toBe('−0.5 pp');
  expect(changeOfShare({ current: 0, before: 0 })).toBe('No change');
  expect(changeOfShare({ current: 0, before: null })).toBeNull();
});
