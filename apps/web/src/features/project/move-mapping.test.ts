import { expect, test } from 'vitest';
import { mapByName } from './move-mapping.ts';

const named = (...names: string[]) => names.map((name) => ({ id: `env_${name}`, name }));
const pairs = (from: string[], to: string[]) => {
  const map = mapByName(named(...from), named(...to));
  return map === null ? null : Object.fromEntries([...map].map(([a, b]) => [a.slice(4), b.slice(4)]));
};

test('environments of the same name come first, whatever their case and order', () => {
  expect(pairs(['Production', 'staging'], ['Staging', 'Preview', 'Production'])).toEqual({
    Production: 'Production',
    staging: 'Staging',
  });
});

test('an environment without its name over there takes one that is free', () => {
  expect(pairs(['QA', 'Production'], ['Production', 'Preview'])).toEqual({ QA: 'Preview', Production: 'Production' });
});

test('too few environments map nothing', () => {
  expect(pairs(['Production', 'Staging'], ['Production'])).toBeNull();
});
