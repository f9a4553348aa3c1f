// Jobs of rate limits and stream limits.
import { z } from 'zod';
import { defineJob } from './define-job.ts';

/** Deletes counts of ended windows, and streams of dead web processes. */
export const pruneRequestsJob = defineJob({
  name: 'request.prune',
  scope: 'system',
  payload: z.object({}),
  attemptsMax: 1,
  every: { cron: '*/10 * * * *' },
});
