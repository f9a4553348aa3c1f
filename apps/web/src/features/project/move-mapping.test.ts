import { expect, test } from 'vitest';
import { mapByName } from './move-mapping.ts';

const named = (...names: string[]) => names.map((name) => ({ id: `env_${name}`, name }));
const pairs = (from: string[], to: string[]) => {
  const map = mapByName(named(...from), named(...to));
  return map === null ? null : Object.fromEntries([...map].map(([a, b]) => [a.slice(4), b.slice(4)]));
};

test('environments match by name, regardless of case and order', () => {
  expect(pairs(['Production', 'staging'], ['Staging', 'Preview', 'Production'])).toEqual({
    Production: 'Production',
    staging: 'Staging',
  });
});

test('an environment without a match gets the first free one', () => {
  expect(pairs(['QA', 'Production'], ['Production', 'Preview'])).toEqual({ QA: 'Preview', Production: 'Production' });
});

test('too few environments give no mapping', () => {
  expect(pairs(['Production', 'Staging'], ['Production'])).toBeNull();
});
