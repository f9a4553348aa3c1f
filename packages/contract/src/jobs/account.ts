// Jobs of accounts.
import { z } from 'zod';
import { defineJob } from './define-job.ts';

/** Deletes what happened to accounts longer ago than it is kept, ended sessions, and old attempts to sign in. */
export const pruneAccountsJob = defineJob({
  name: 'account.prune',
  scope: 'system',
  payload: z.object({}),
  attemptsMax: 3,
  every: { cron: '23 * * * *' },
});
