import { expect, test } from 'vitest';
import { comparePermissions, describeChange } from './permission-changes.ts';

const plain = (permission: string) => permission;

test('ticking and unticking the same box is no change', () => {
  expect(comparePermissions(['app.read', 'app.write'], new Set(['app.write', 'app.read'] as const))).toBeNull();
});

test('lost permissions come first, with the number of members', () => {
  const change = comparePermissions(['app.read', 'app.write'], new Set(['app.read', 'app.delete'] as const));
  if (change === null) throw new Error('there is a change');
  expect(describeChange(change, 2, plain)).toBe('2 members lose: app.write. Gained: app.delete.');
  expect(describeChange({ lost: ['app.write'], gained: [] }, 1, plain)).toBe('1 member loses: app.write.');
  expect(describeChange({ lost: [], gained: ['app.write'] }, 0, plain)).toBe('Anyone with this role gains: app.write.');
});
