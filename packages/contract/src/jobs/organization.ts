// Jobs of organizations.
import { z } from 'zod';
import { defineJob } from './define-job.ts';

/** Deletes organizations at the end of their delay, step by step. Safe to run twice. */
export const sweepOrganizationsJob = defineJob({
  name: 'organization.sweep',
  scope: 'system',
  payload: z.object({}),
  attemptsMax: 1,
  every: { intervalMs: 60_000 },
});
