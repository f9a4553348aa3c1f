import { expect, it } from 'vitest';
import { formatRow, isWithinBound, summary } from './build-rows.ts';

const fast = { example: 'hello-fast', first: [500, 9000, 500], second: [500, 4000, 500] };
const slow = { example: 'hello-slow', first: [500, 9000, 500], second: [500, 4001, 500] };

it('is within the bound at half of the first build, all steps together', () => {
  expect([fast, slow].map(isWithinBound)).toEqual([true, false]);
});

it('prints both builds, their steps and their ratio', () => {
  expect(formatRow(slow)).toBe(
    ' OVER hello-slow               first   10.0 s (clone 0.5, build 9.0, pack 0.5)  second    5.0 s (clone 0.5, build 4.0, pack 0.5)   50 %',
  );
});

it('sums up and counts the examples within the bound', () => {
  expect(summary([fast, slow])).toBe(
    'sum: first builds 20.0 s, second builds 10.0 s\nsecond build <= 50 % of the first: 1 of 2',
  );
});
