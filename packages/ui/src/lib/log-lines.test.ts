import { describe, expect, test } from 'vitest';
import { ansiParts } from './ansi.ts';
import {
  fieldChoices,
  findMatches,
  hasFields,
  idOfHash,
  jsonLine,
  layoutRows,
  markMatches,
  rowOfLine,
} from './log-lines.ts';

const line = (text: string, group = 'build') => ({ text, group });
const lines = [
  line('cloning', 'clone'),
  line('HEAD is now at 1234567', 'clone'),
  line('npm ci'),
  line('added 3 packages'),
];

describe('rows', () => {
  test('each group has a title row before its lines', () => {
    expect(layoutRows(lines, new Set())).toEqual([
      { kind: 'group', group: 'clone', lineCount: 2, folded: false },
      { kind: 'line', index: 0 },
      { kind: 'line', index: 1 },
      { kind: 'group', group: 'build', lineCount: 2, folded: false },
      { kind: 'line', index: 2 },
      { kind: 'line', index: 3 },
    ]);
  });

  test('a folded group keeps its title and hides its lines', () => {
    const rows = layoutRows(lines, new Set(['clone']));
    expect(rows[0]).toEqual({ kind: 'group', group: 'clone', lineCount: 2, folded: true });
    expect(rowOfLine(rows, 0)).toBe(-1);
    expect(rowOfLine(rows, 2)).toBe(2);
  });

  test('a log without groups has lines only, below its head', () => {
    expect(layoutRows([line('a', ''), line('b', '')], new Set(['']), true)).toEqual([
      { kind: 'head' },
      { kind: 'line', index: 0 },
      { kind: 'line', index: 1 },
    ]);
    expect(layoutRows([], new Set())).toEqual([]);
  });
});

describe('search', () => {
  const marked = (raw: string, query: string) =>
    markMatches(ansiParts(raw), query).map(({ text, matched }) => (matched ? `[${text}]` : text));

  test('the search ignores case, and an empty search finds nothing', () => {
    expect(findMatches(lines, 'NPM')).toEqual([2]);
    expect(findMatches(lines, '  ')).toEqual([]);
  });

  test('matched parts of a line keep their case', () => {
    expect(marked('Error: error', 'error')).toEqual(['[Error]', ': ', '[error]']);
    expect(marked('errorerror', 'error')).toEqual(['[error]', '[error]']);
    expect(marked('abc', '')).toEqual(['abc']);
    expect(marked('', 'x')).toEqual([]);
  });

  test('a match across two colours is marked in both', () => {
    expect(marked('an \u001b[31mer\u001b[0mror here', 'error')).toEqual(['an ', '[er]', '[ror]', ' here']);
  });
});

test.each([
  ['#L1', 'L1'],
  ['#T1700000000000.2', 'T1700000000000.2'],
  ['#', null],
  ['#a b', null],
  ['', null],
])('the hash %s names line %s', (hash, id) => expect(idOfHash(hash)).toBe(id));

describe('JSON lines', () => {
  test('a line that is an object has a message and fields', () => {
    expect(
      jsonLine('{"level":"info","time":1,"msg":"served","status":200,"path":"/","user":{"id":7},"ok":true}'),
    ).toEqual({
      message: 'served',
      fields: [
        { name: 'status', value: '200' },
        { name: 'path', value: '/' },
        { name: 'user', value: '{"id":7}' },
        { name: 'ok', value: 'true' },
      ],
    });
  });

  test.each(['served', '{braces} around', '{not json}', '[1]', ''])('%s is no object', (text) =>
    expect(jsonLine(text)).toBeNull(),
  );

  const at = (status: number, id: string) => ({ json: jsonLine(JSON.stringify({ status, id })) });

  test('lines are filtered by several fields', () => {
    expect(hasFields(at(200, 'a'), [{ name: 'status', value: '200' }])).toBe(true);
    expect(
      hasFields(at(200, 'a'), [
        { name: 'status', value: '200' },
        { name: 'id', value: 'b' },
      ]),
    ).toBe(false);
    expect(hasFields({ json: null }, [{ name: 'status', value: '200' }])).toBe(false);
    expect(hasFields({ json: null }, [])).toBe(true);
  });

  test('fields with few values are offered, the most frequent first', () => {
    const many = Array.from({ length: 40 }, (_, index) => at(index % 4 === 0 ? 500 : 200, `id-${index}`));
    expect(fieldChoices(many)).toEqual([
      {
        name: 'status',
        values: [
          { value: '200', count: 30 },
          { value: '500', count: 10 },
        ],
      },
    ]);
  });
});
