// Tests of the times that `npm start` prints.
import { expect, test } from 'vitest';
import { formatElapsed } from './progress.ts';

test.each([
  [840, '0.8 s'],
  [9_940, '9.9 s'],
  [9_960, '10 s'],
  [59_400, '59 s'],
  [59_600, '1 min 0 s'],
  [539_700, '9 min 0 s'],
  [1_611_000, '26 min 51 s'],
])('%i ms are %s', (milliseconds, text) => expect(formatElapsed(milliseconds)).toBe(text));
