import { expect, test } from 'vitest';
import { groupsOf, readRanges, verbOf } from './permissions.ts';

test('permissions stand by feature, in their order', () => {
  expect(groupsOf(['app.read', 'server.read', 'app.write'])).toEqual([
    { feature: 'app', permissions: ['app.read', 'app.write'] },
    { feature: 'server', permissions: ['server.read'] },
  ]);
  expect(verbOf('deployment.write')).toBe('write');
});

test('ranges may stand on lines or between commas', () => {
  expect(readRanges(' 10.0.0.0/8,\n 2001:db8::1  ')).toEqual(['10.0.0.0/8', '2001:db8::1']);
  expect(readRanges(' ')).toEqual([]);
});
