import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createChangeCollector } from './change-collector.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('the first change is reported at once, a burst after it in one batch', () => {
  const told: string[][] = [];
  const collector = createChangeCollector(400, (kinds) => told.push([...kinds]));
  collector.add('app');
  collector.add('app');
  collector.add('deployment');
  expect(told).toEqual([['app']]);
  vi.advanceTimersByTime(400);
  expect(told).toEqual([['app'], ['app', 'deployment']]);
});

test('after silence the next change is reported at once again', () => {
  const told: string[][] = [];
  const collector = createChangeCollector(400, (kinds) => told.push([...kinds]));
  collector.add('app');
  vi.advanceTimersByTime(1000);
  collector.add('server');
  expect(told).toEqual([['app'], ['server']]);
});

test('nothing is reported after the end', () => {
  const told: string[][] = [];
  const collector = createChangeCollector(400, (kinds) => told.push([...kinds]));
  collector.add('app');
  collector.add('app');
  collector.stop();
  vi.advanceTimersByTime(1000);
  expect(told).toEqual([['app']]);
});
