import { expect, test } from 'vitest';
import { conflictOf } from './conflicts.ts';

const mine = (host: string) => ({ organizationId: 'mine', host });
const theirs = (host: string) => ({ organizationId: 'theirs', host });

test('a host belongs to the organization that has proven its nearest name', () => {
  const cases = [
    ['shop.example.com', [], null],
    ['shop.example.com', [theirs('shop.example.com')], 'proven'],
    ['shop.example.com', [theirs('example.com')], 'proven'],
    ['*.example.com', [theirs('example.com')], 'proven'],
    ['shop.example.com', [theirs('other.com'), theirs('op.example.com')], null],
    ['shop.example.com', [mine('shop.example.com'), theirs('example.com')], null],
    ['a.shop.example.com', [mine('example.com'), theirs('shop.example.com')], 'proven'],
    ['example.com', [theirs('shop.example.com')], null],
  ] as const;
  for (const [host, proofs, conflict] of cases)
    expect(conflictOf(mine(host), proofs, [mine(host)]), host).toBe(conflict);
});

test('without a proof, the first claim of the host counts', () => {
  const host = 'shop.example.com';
  expect(conflictOf(mine(host), [], [mine(host), theirs(host)])).toBeNull();
  expect(conflictOf(mine(host), [], [theirs(host), mine(host)])).toBe('claimed');
  expect(conflictOf(mine(host), [mine('example.com')], [theirs(host), mine(host)])).toBeNull();
});
