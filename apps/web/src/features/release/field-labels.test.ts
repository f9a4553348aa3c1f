import { expect, test } from 'vitest';
import { fieldLabel } from './field-labels.ts';

test('fields become readable labels, and variables keep their names', () => {
  expect(fieldLabel('commitHash')).toBe('Commit');
  expect(fieldLabel('memoryBytesMax')).toBe('Memory bytes max');
  expect(fieldLabel('variables.LOG_LEVEL')).toBe('LOG_LEVEL');
});
