// Jobs of accounts.
import { z } from 'zod';
import { defineJob } from './define-job.ts';

/** Deletes old account events, ended sessions, and old sign-in attempts. */
export const pruneAccountsJob = defineJob({
  name: 'account.prune',
  scope: 'system',
  payload: z.object({}),
  attemptsMax: 3,
  every: { cron: '23 * * * *' },
});
