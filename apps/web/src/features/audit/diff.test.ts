import { expect, test } from 'vitest';
import { diffOf } from './diff.ts';

test('fields are side by side, changed ones first', () => {
  expect(diffOf({ name: 'a', gone: true }, { made: ['x', 'y'], name: '', list: [] })).toEqual([
    { field: 'name', before: 'a', after: 'none' },
    { field: 'gone', before: 'true', after: null },
    { field: 'made', before: null, after: 'x y' },
    { field: 'list', before: null, after: 'none' },
  ]);
  expect(diffOf(null, null)).toEqual([]);
});

test('an id is shown with its name', () => {
  const lines = diffOf(null, { serverId: 'srv_1', servers: ['srv_1', 'srv_2'] }, { srv_1: 'frankfurt' });
  expect(lines.map(({ after }) => after)).toEqual(['frankfurt (srv_1)', 'frankfurt (srv_1) srv_2']);
});
