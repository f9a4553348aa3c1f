import { expect, test } from 'vitest';
import { isInRanges, plainAddress } from './address.ts';

test('an address lies in its own range and network, of either family, and nowhere else', () => {
  expect(isInRanges('10.1.2.3', ['10.0.0.0/8'])).toBe(true);
  expect(isInRanges('::ffff:10.1.2.3', ['10.0.0.0/8'])).toBe(true);
  expect(isInRanges('11.1.2.3', ['10.0.0.0/8', '11.1.2.4'])).toBe(false);
  expect(isInRanges('11.1.2.4', ['11.1.2.4'])).toBe(true);
  expect(isInRanges('2001:db8::7', ['2001:db8::/32'])).toBe(true);
  expect(isInRanges('2001:db9::7', ['2001:db8::/32', '0.0.0.0/0'])).toBe(false);
  expect(isInRanges('unknown', ['0.0.0.0/0', '::/0'])).toBe(false);
  expect(isInRanges('10.1.2.3', [])).toBe(false);
});

test('invalid text is not parsed as an address', () => {
  expect(plainAddress(' 203.0.113.9 ')).toBe('203.0.113.9');
  expect(plainAddress('203.0.113.9:80')).toBeNull();
  expect(plainAddress('')).toBeNull();
});
