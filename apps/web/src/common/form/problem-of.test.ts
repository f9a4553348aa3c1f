import { expect, test } from 'vitest';
import { problemOf } from './problem-of.ts';

test('an error of a nested value marks its field', () => {
  const fields = { 'settings.workers.0.name': 'no', 'settings.image': 'bad' };
  expect(problemOf(fields, 'settings', 'workers')).toBe('no');
  expect(problemOf(fields, 'settings', 'image')).toBe('bad');
  expect(problemOf(fields, 'settings', 'work')).toBeUndefined();
});
