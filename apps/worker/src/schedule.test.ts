// Tests of interval jobs: one run at a time, or more for jobs that leave out what an earlier run is busy with.
import type { JobName } from '@fairlead/contract/jobs';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { startIntervals } from './schedule.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test('a run that waits delays the next run of its job, unless the job allows more at once', async () => {
  const waiting = Promise.withResolvers<void>();
  const runs = new Map<JobName, number>();
  const stop = startIntervals((name) => {
    runs.set(name, (runs.get(name) ?? 0) + 1);
    return waiting.promise;
  });
  await vi.advanceTimersByTimeAsync(1_000_000);
  expect(runs.get('backup.sweep')).toBe(1);
  expect(runs.get('github.report')).toBe(32);
  let isStopped = false;
  const stopped = stop().then(() => {
    isStopped = true;
  });
  await vi.advanceTimersByTimeAsync(0);
  expect(isStopped).toBe(false);
  waiting.resolve();
  await stopped;
});
