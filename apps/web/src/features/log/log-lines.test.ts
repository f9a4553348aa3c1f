import { describe, expect, test } from 'vitest';
import type { LogLine } from '../../api/types.ts';
import {
  appendTail,
  formatFields,
  joinPages,
  mergeTail,
  momentOfId,
  olderThan,
  parseFields,
  regexOfField,
  toViewLines,
} from './log-lines.ts';

const line = (unixMs: number, text = ''): LogLine => ({
  unixMs,
  text,
  instanceId: 'ins_1',
  process: 'web',
  releaseId: 'rel_1',
  stream: 'stdout',
  level: '',
  serverId: 'srv_00000000000000000000000000' as LogLine['serverId'],
});
const texts = (lines: readonly LogLine[]) => lines.map(({ text }) => text).join('');

test('a millisecond that a page limit split is shown once and complete', () => {
  const newer = { lines: [line(5, 'c'), line(6, 'd')], more: true };
  const older = { lines: [line(4, 'a'), line(5, 'b'), line(5, 'c')], more: false };
  expect(olderThan([newer])).toBe(5);
  expect(texts(joinPages([newer, older]))).toBe('abcd');
  expect(olderThan([newer, older])).toBeNull();
});

test('a millisecond longer than a page does not stop paging back', () => {
  const newer = { lines: [line(5, 'c'), line(5, 'd')], more: true };
  expect(olderThan([newer])).toBe(4);
  expect(texts(joinPages([newer, { lines: [line(4, 'b')], more: false }]))).toBe('bcd');
});

test('a live tail stays sorted', () => {
  expect(texts(appendTail([line(1, 'a'), line(3, 'c')], [line(2, 'b')]))).toBe('abc');
});

describe('the tail continues what is stored', () => {
  const other = (unixMs: number, text: string): LogLine => ({
    ...line(unixMs, text),
    serverId: 'srv_11111111111111111111111111' as LogLine['serverId'],
  });

  test('lines of both are shown once', () => {
    const history = [line(1, 'a'), line(2, 'b'), line(3, 'c')];
    expect(texts(mergeTail(history, [line(2, 'b'), line(3, 'c'), line(4, 'd')], 0))).toBe('abcd');
    expect(texts(mergeTail(history, [], 0))).toBe('abc');
    expect(texts(mergeTail([], [line(4, 'd')], 0))).toBe('d');
  });

  test('a millisecond that the limit of the tail split is complete', () => {
    const history = [line(1, 'a'), line(2, 'b'), line(2, 'c')];
    expect(texts(mergeTail(history, [line(2, 'c'), line(3, 'd')], 0))).toBe('abcd');
    expect(texts(mergeTail([line(2, 'b')], [line(2, 'b'), line(2, 'c')], 0))).toBe('bc');
  });

  test('each server has its own overlap, and a quiet one no lines beside a gap', () => {
    const history = [line(10, 'b'), other(11, 'c'), line(12, 'd')];
    const tail = [other(2, 'old'), other(11, 'c'), line(12, 'd'), other(13, 'e')];
    expect(texts(mergeTail(history, tail, 10))).toBe('bcde');
  });
});

describe('lines of the view', () => {
  test('lines of one moment have different ids, by which a link finds them', () => {
    const ids = (...lines: LogLine[]) => toViewLines(lines).map(({ id }) => id);
    const [first, second, again, third] = ids(line(5, 'a'), line(5, 'b'), line(5, 'b'), line(6, 'b'));
    expect(new Set([first, second, again, third]).size).toBe(4);
    // A filter leaves out other lines of the moment.
    expect(ids(line(5, 'b'), line(6, 'b'))).toEqual([second, third]);
    expect([first, second, again, third].map((id) => momentOfId(id ?? ''))).toEqual([5, 5, 5, 6]);
    expect(momentOfId('L5')).toBeNull();
  });

  test('level, source and fields are known, and unknown levels are none', () => {
    const json = { ...line(1, '{"msg":"served","status":200}'), level: 'info' };
    const system = { ...line(2, 'It ended.'), stream: 'system' as const, level: 'loud' };
    expect(toViewLines([json, system])).toMatchObject([
      { level: 'info', source: 'web', json: { message: 'served', fields: [{ name: 'status', value: '200' }] } },
      { level: null, source: 'fairlead', system: true, json: null },
    ]);
  });
});

describe('fields', () => {
  const fields = [
    { name: 'status', value: '500' },
    { name: 'path', value: '/a?b=c&d' },
  ];

  test('survive the URL', () => {
    expect(parseFields(formatFields(fields))).toEqual(fields);
    expect(parseFields('')).toEqual([]);
  });

  test.each([
    [{ name: 'status', value: '500' }, '{"status":500}', true],
    [{ name: 'status', value: '500' }, '{"a":1, "status" : "500" }', true],
    [{ name: 'status', value: '50' }, '{"status":500}', false],
    [{ name: 'path', value: '/a?b="c"' }, JSON.stringify({ path: '/a?b="c"', x: 1 }), true],
  ])('%j finds %s: %s', (field, text, isFound) => {
    expect(new RegExp(regexOfField(field) ?? '').test(text)).toBe(isFound);
  });

  test('nested values are left to the browser', () => {
    expect(regexOfField({ name: 'user', value: '{"id":7}' })).toBeNull();
  });
});
