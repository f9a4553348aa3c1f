import { expect, test } from 'vitest';
import { localName } from './local-name.ts';

test('the local server is named local, unless a lost machine still has that name', () => {
  const named = (...names: readonly string[]) => localName(names.map((name) => ({ name })));
  expect(named('east')).toBe('local');
  expect(named('local', 'east')).toBe('local-2');
  expect(named('local', 'local-2', 'local-4')).toBe('local-3');
});
