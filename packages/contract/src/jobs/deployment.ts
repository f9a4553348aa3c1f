// Jobs of the deployment machine.
import { z } from 'zod';
import { deploymentIdSchema, organizationIdSchema } from '../ids.ts';
import { defineJob } from './define-job.ts';

/** Takes the next step of one deployment: decides, changes desired state. Safe to run twice. */
export const advanceDeploymentJob = defineJob({
  name: 'deployment.advance',
  scope: 'tenant',
  payload: z.object({ organizationId: organizationIdSchema, deploymentId: deploymentIdSchema }),
  attemptsMax: 10,
  every: null,
});

/** Deletes artifacts that nothing needs any more. */
export const pruneArtifactsJob = defineJob({
  name: 'artifact.prune',
  scope: 'system',
  payload: z.object({}),
  attemptsMax: 1,
  every: { cron: '41 * * * *' },
});

/** Finds deployments that are overdue or have lost their worker, and resumes or fails them. */
export const sweepDeploymentsJob = defineJob({
  name: 'deployment.sweep',
  scope: 'system',
  payload: z.object({}),
  attemptsMax: 1,
  every: { intervalMs: 10_000 },
});
