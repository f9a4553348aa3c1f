// Jobs of benchmark runs.
import { z } from 'zod';
import { defineJob } from './define-job.ts';

/** Fails runs that their server did not finish in time. */
export const sweepBenchmarksJob = defineJob({
  name: 'benchmark.sweep',
  scope: 'system',
  payload: z.object({}),
  attemptsMax: 1,
  every: { intervalMs: 30_000 },
});
