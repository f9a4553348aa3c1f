import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createChangeCollector } from './change-collector.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('the first change is reported at once, a burst after it in one batch', () => {
  const reported: string[][] = [];
  const collector = createChangeCollector(400, (kinds) => reported.push([...kinds]));
  collector.add('app');
  collector.add('app');
  collector.add('deployment');
  expect(reported).toEqual([['app']]);
  vi.advanceTimersByTime(400);
  expect(reported).toEqual([['app'], ['app', 'deployment']]);
});

test('after silence the next change is reported at once again', () => {
  const reported: string[][] = [];
  const collector = createChangeCollector(400, (kinds) => reported.push([...kinds]));
  collector.add('app');
  vi.advanceTimersByTime(1000);
  collector.add('server');
  expect(reported).toEqual([['app'], ['server']]);
});

test('nothing is reported after the end', () => {
  const reported: string[][] = [];
  const collector = createChangeCollector(400, (kinds) => reported.push([...kinds]));
  collector.add('app');
  collector.add('app');
  collector.stop();
  vi.advanceTimersByTime(1000);
  expect(reported).toEqual([['app']]);
});
