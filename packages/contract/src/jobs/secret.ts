// Jobs of secrets.
import { z } from 'zod';
import { defineJob } from './define-job.ts';

/** Carries values over to newer keys: data keys to the newest master key, values to the newest data key. Safe to run twice. */
export const rotateSecretsJob = defineJob({
  name: 'secret.rotate',
  scope: 'system',
  payload: z.object({}),
  attemptsMax: 1,
  every: { intervalMs: 60_000 },
});

/** Tells of secrets that expire soon, once each. */
export const remindSecretsJob = defineJob({
  name: 'secret.remind',
  scope: 'system',
  payload: z.object({}),
  attemptsMax: 3,
  every: { cron: '23 * * * *' },
});
