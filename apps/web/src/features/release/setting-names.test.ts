import { expect, test } from 'vitest';
import { nameOfField } from './setting-names.ts';

test('fields become readable labels, and variables keep their names', () => {
  expect(nameOfField('commitHash')).toBe('Commit');
  expect(nameOfField('memoryBytesMax')).toBe('Memory bytes max');
  expect(nameOfField('variables.LOG_LEVEL')).toBe('LOG_LEVEL');
});
