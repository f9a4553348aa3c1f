import { expect, test } from 'vitest';
import { fieldError } from './field-error.ts';

test('an error of a nested value marks its field', () => {
  const fields = { 'settings.workers.0.name': 'no', 'settings.image': 'bad' };
  expect(fieldError(fields, 'settings', 'workers')).toBe('no');
  expect(fieldError(fields, 'settings', 'image')).toBe('bad');
  expect(fieldError(fields, 'settings', 'work')).toBeUndefined();
});
