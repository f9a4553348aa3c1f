// Jobs that keep the metric tables small.
import { z } from 'zod';
import { defineJob } from './define-job.ts';

/** Sums seconds to minutes and minutes to hours, merging histograms. Safe to run twice. */
export const rollUpMetricsJob = defineJob({
  name: 'metric.roll_up',
  scope: 'system',
  payload: z.object({}),
  attemptsMax: 3,
  every: { cron: '* * * * *' },
});

/** Makes partitions ahead and drops those past their age. */
export const pruneMetricsJob = defineJob({
  name: 'metric.prune',
  scope: 'system',
  payload: z.object({}),
  attemptsMax: 3,
  every: { cron: '17 * * * *' },
});
