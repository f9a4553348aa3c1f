import { expect, test } from 'vitest';
import { commandScore } from './command-score.ts';

const app = (search: string) => commandScore('app hello', search, ['Hello world']);
const deploy = (search: string) => commandScore('deploy hello Hello world', search);
const theme = (search: string) => commandScore('switch theme dark light', search);

test.each(['hell', 'HELLO', 'hello w', ' hello '])('a name leads to its page before its actions: %s', (search) => {
  expect(app(search)).toBeGreaterThan(deploy(search));
  expect(deploy(search)).toBeGreaterThan(0);
});

test('a verb leads to the action', () => {
  expect(deploy('deploy hel')).toBeGreaterThan(app('deploy hel'));
  expect(app('deploy hel')).toBe(0);
});

test('letters in the right order are no match, and neither is the middle of a word', () => {
  expect(theme('hell')).toBe(0);
  expect(theme('witch')).toBe(0);
  expect(theme('dark sw')).toBeGreaterThan(0);
});

test('everything matches an empty search', () => {
  expect(theme('')).toBeGreaterThan(0);
  expect(theme(' ')).toBeGreaterThan(0);
});
