import { describe, expect, test } from 'vitest';
import {
  findMatches,
  type LogViewLine,
  layoutRows,
  lineOfHash,
  plainText,
  rowOfLine,
  splitMatches,
  visibleWindow,
} from './log-rows.ts';

function line(text: string, group = 'build', tone: LogViewLine['tone'] = 'plain'): LogViewLine {
  return { text, group, tone };
}

const lines = [
  line('cloning', 'clone'),
  line('HEAD is now at 1234567', 'clone'),
  line('npm ci'),
  line('added 3 packages'),
];

describe('rows', () => {
  test('each group has a title row before its lines', () => {
    expect(layoutRows(lines, new Set(), 80)).toEqual([
      { kind: 'group', group: 'clone', lineCount: 2, folded: false },
      { kind: 'line', index: 0, from: 0, to: 7 },
      { kind: 'line', index: 1, from: 0, to: 22 },
      { kind: 'group', group: 'build', lineCount: 2, folded: false },
      { kind: 'line', index: 2, from: 0, to: 6 },
      { kind: 'line', index: 3, from: 0, to: 16 },
    ]);
  });

  test('a folded group keeps its title and hides its lines', () => {
    const rows = layoutRows(lines, new Set(['clone']), 80);
    expect(rows[0]).toEqual({ kind: 'group', group: 'clone', lineCount: 2, folded: true });
    expect(rowOfLine(rows, 0)).toBe(-1);
    expect(rowOfLine(rows, 2)).toBe(2);
  });

  test('a line that is too long wraps, and is still one line', () => {
    const rows = layoutRows([line('0123456789')], new Set(), 4);
    expect(rows.slice(1)).toEqual([
      { kind: 'line', index: 0, from: 0, to: 4 },
      { kind: 'line', index: 0, from: 4, to: 8 },
      { kind: 'line', index: 0, from: 8, to: 10 },
    ]);
    expect(rowOfLine(rows, 0)).toBe(1);
    expect(layoutRows([line('')], new Set(), 4)).toHaveLength(2);
  });

  test('lines wrap between words where possible', () => {
    const text = 'building the server now';
    const parts = layoutRows([line(text)], new Set(), 13).flatMap((row) =>
      row.kind === 'line' ? [text.slice(row.from, row.to)] : [],
    );
    expect(parts).toEqual(['building the ', 'server now']);
  });

  test('no lines, no rows', () => expect(layoutRows([], new Set(), 80)).toEqual([]));
});

describe('search', () => {
  test('the search ignores case, and an empty search finds nothing', () => {
    expect(findMatches(lines, 'NPM')).toEqual([2]);
    expect(findMatches(lines, '  ')).toEqual([]);
  });

  test('matched parts of a line keep their case', () => {
    expect(splitMatches('Error: error', 'error')).toEqual([
      { text: 'Error', matched: true },
      { text: ': ', matched: false },
      { text: 'error', matched: true },
    ]);
    expect(splitMatches('abc', '')).toEqual([{ text: 'abc', matched: false }]);
    expect(splitMatches('', 'x')).toEqual([]);
  });

  test('a match across a wrap is marked in both rows', () => {
    expect(splitMatches('an error here', 'error', 0, 5)).toEqual([
      { text: 'an ', matched: false },
      { text: 'er', matched: true },
    ]);
    expect(splitMatches('an error here', 'error', 5, 10)).toEqual([
      { text: 'ror', matched: true },
      { text: ' h', matched: false },
    ]);
  });
});

test.each([
  ['#L1', 0],
  ['#L120', 119],
  ['#L0', null],
  ['#line-3', null],
  ['', null],
])('the hash %s names line index %s', (hash, index) => expect(lineOfHash(hash)).toBe(index));

test('only rows near the viewport are rendered, however long the log', () => {
  const window = visibleWindow(200_000, 600, 20, 20_000);
  expect(window).toEqual({ first: 9976, last: 10_054 });
  expect(visibleWindow(0, 600, 20, 3)).toEqual({ first: 0, last: 3 });
  expect(visibleWindow(0, 0, 20, 0)).toEqual({ first: 0, last: 0 });
});

test('terminal codes are removed and an overwritten line shows its last state', () => {
  expect(plainText('\u001b[32mok\u001b[0m done')).toBe('ok done');
  expect(plainText('10%\r50%\r100%')).toBe('100%');
  expect(plainText('windows line\r')).toBe('windows line');
  expect(plainText('\u001b]8;;https://a\u0007link')).toBe('link');
  expect(plainText('a\tb')).toBe('a    b');
});
