import { expect, test } from 'vitest';
import { isDiskShort } from './disk.ts';

test.each([
  [91, 100, true],
  [90, 100, false],
  [null, 100, false],
  [5, null, false],
  [5, 0, false],
])('%s of %s used: short is %s', (used, total, short) => expect(isDiskShort(used, total)).toBe(short));
