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
