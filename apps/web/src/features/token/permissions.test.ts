import { expect, test } from 'vitest';
import { groupsOf, readRanges } from './permissions.ts';

test('what may be given stands by feature, in the words and the order of roles', () => {
  expect(groupsOf(['server.read', 'app.write', 'app.read'])).toEqual([
    {
      title: 'Apps',
      permissions: [
        { permission: 'app.read', label: 'See apps' },
        { permission: 'app.write', label: 'Make and change apps' },
      ],
    },
    { title: 'Servers', permissions: [{ permission: 'server.read', label: 'See servers' }] },
  ]);
});

test('ranges may stand on lines or between commas', () => {
  expect(readRanges(' 10.0.0.0/8,\n 2001:db8::1  ')).toEqual(['10.0.0.0/8', '2001:db8::1']);
  expect(readRanges(' ')).toEqual([]);
});
