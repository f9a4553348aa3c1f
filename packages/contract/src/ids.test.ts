import { expect, test } from 'vitest';
import { appIdSchema, isId, newId, parseId } from './ids.ts';

test('a new id has its prefix, 20 letters or digits, and is never the same', () => {
  const ids = new Set(Array.from({ length: 1000 }, () => newId('app')));
  expect(ids.size).toBe(1000);
  for (const id of ids) expect(id).toMatch(/^app_[0-9A-Za-z]{20}$/);
});

test('an id that could leave its folder or is of another kind is refused', () => {
  for (const bad of ['', 'app', 'app_', 'app_../x', 'srv_abc', 'app_a b', 'app_ä', `app_${'a'.repeat(65)}`]) {
    expect(isId('app', bad), bad).toBe(false);
    expect(appIdSchema.safeParse(bad).success, bad).toBe(false);
    expect(() => parseId('app', bad)).toThrow('expected the id of: app');
  }
  expect(parseId('app', 'app_01abcXYZ')).toBe('app_01abcXYZ');
});
