import { expect, test } from 'vitest';
import { groupsOf, readRanges, verbOf } from './permissions.ts';

test('only what one holds is offered, by feature, and never what tokens may not carry', () => {
  expect(groupsOf((permission) => permission.startsWith('app.'))).toEqual([
    { feature: 'app', permissions: ['app.read', 'app.write', 'app.delete'] },
  ]);
  const all = groupsOf(() => true).flatMap(({ permissions }) => permissions as readonly string[]);
  expect(all).toContain('deployment.write');
  expect(all).not.toContain('token.write');
  expect(verbOf('deployment.write')).toBe('write');
});

test('ranges may stand on lines or between commas', () => {
  expect(readRanges(' 10.0.0.0/8,\n 2001:db8::1  ')).toEqual(['10.0.0.0/8', '2001:db8::1']);
  expect(readRanges(' ')).toEqual([]);
});
