import { expect, test } from 'vitest';
import { capabilities, supports } from './capabilities.ts';

test('each capability has a sentence', () => {
  for (const [name, meaning] of Object.entries(capabilities)) expect(meaning, name).toMatch(/^[A-Z].*\.$/);
});

test('an agent supports what it reported, beside names that this version does not know', () => {
  const reported = ['volume', 'from.the.future'];
  expect([supports(reported, 'volume'), supports(reported, 'worker')]).toEqual([true, false]);
  // @ts-expect-error A misspelt name does not compile.
  expect(supports(reported, 'volumes')).toBe(false);
});
