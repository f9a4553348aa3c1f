import { expect, test } from 'vitest';
import { movedId, selectedId } from './command-selection.ts';

test('the first row is selected until the person moves, also when rows arrive before it', () => {
  expect(selectedId(['b'], null, '')).toBe('b');
  expect(selectedId(['a', 'b'], null, '')).toBe('a');
});

test('a moved selection stays on its row while rows arrive, and starts over with another search', () => {
  const selection = { scope: 'he', id: 'b' };
  expect(selectedId(['a', 'b'], selection, 'he')).toBe('b');
  expect(selectedId(['new', 'a', 'b'], selection, 'he')).toBe('b');
  expect(selectedId(['a', 'b'], selection, 'hel')).toBe('a');
  expect(selectedId(['a'], selection, 'he')).toBe('a');
  expect(selectedId([], selection, 'he')).toBeUndefined();
});

test('the arrows go around the ends', () => {
  expect(movedId(['a', 'b', 'c'], 'c', 1)).toBe('a');
  expect(movedId(['a', 'b', 'c'], 'a', -1)).toBe('c');
});
