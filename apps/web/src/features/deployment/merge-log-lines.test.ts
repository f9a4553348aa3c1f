import { expect, test } from 'vitest';
import { type DeploymentLogLine, liveTail, storedLines } from './merge-log-lines.ts';

const line = (text: string, stream: DeploymentLogLine['stream'] = 'stdout'): DeploymentLogLine => ({
  stream,
  step: 'build',
  text,
  unixMs: 7,
});
const texts = (lines: readonly { text: string }[]) => lines.map((each) => each.text);

test('live lines continue the stored ones, in any order and even twice', () => {
  const batches = [
    { firstLine: 3, lines: [line('d')] },
    { firstLine: 1, lines: [line('b'), line('c')] },
    { firstLine: 2, lines: [line('c'), line('d')] },
  ];
  expect(texts(liveTail(batches, 1).lines)).toEqual(['b', 'c', 'd']);
  expect(liveTail(batches, 1).hasGap).toBe(false);
});

test('lines ahead of the store wait until the gap is read', () => {
  const batches = [{ firstLine: 5, lines: [line('f')] }];
  expect(liveTail(batches, 3)).toEqual({ lines: [], hasGap: true });
  expect(texts(liveTail(batches, 5).lines)).toEqual(['f']);
});

test('lost lines keep their numbers and are reported once', () => {
  const stored = storedLines(
    [
      { ...line('a'), number: 0 },
      { ...line('d'), number: 3 },
    ],
    5,
  );
  expect(texts(stored)).toEqual(['a', '(2 lines were lost)', '', 'd', '(1 line was lost)']);
});

test('lines keep their time and colours; red is for errors, not for all of stderr', () => {
  const stored = storedLines(
    [
      { ...line('npm ci', 'system'), number: 0 },
      { ...line('npm warn old', 'stderr'), number: 1 },
      { ...line('\u001b[31mnpm error\u001b[0m code E404'), number: 2 },
    ],
    3,
  );
  expect(stored).toMatchObject([
    { id: 'L1', text: 'npm ci', group: 'build', system: true, level: null, unixMs: 7 },
    { id: 'L2', text: 'npm warn old', system: false, level: 'warn' },
    { id: 'L3', text: 'npm error code E404', raw: '\u001b[31mnpm error\u001b[0m code E404', level: 'error' },
  ]);
});

test('an empty log shows nothing', () => {
  expect(storedLines([], 0)).toEqual([]);
  expect(liveTail([], 0)).toEqual({ lines: [], hasGap: false });
});
