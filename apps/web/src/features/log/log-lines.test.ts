import { expect, test } from 'vitest';
import type { LogLine } from '../../api/types.ts';
import { appendTail, joinPages, olderThan, TAIL_LINES_MAX } from './log-lines.ts';

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

test('a live tail stays sorted and bounded', () => {
  expect(texts(appendTail([line(1, 'a'), line(3, 'c')], [line(2, 'b')]))).toBe('abc');
  const many = Array.from({ length: TAIL_LINES_MAX }, (_, at) => line(at));
  expect(appendTail(many, [line(TAIL_LINES_MAX, 'x')])).toHaveLength(TAIL_LINES_MAX);
  expect(appendTail(many, [line(TAIL_LINES_MAX, 'x')]).at(-1)?.text).toBe('x');
});
