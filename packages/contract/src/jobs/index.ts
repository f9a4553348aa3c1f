// All background jobs by name. A type requires a handler in the worker for each.
import type { z } from 'zod';
import { pruneAccountsJob } from './account.ts';
import { sweepBenchmarksJob } from './benchmark.ts';
import { advanceDeploymentJob, pruneArtifactsJob, sweepDeploymentsJob } from './deployment.ts';
import { pruneMetricsJob, rollUpMetricsJob } from './metric.ts';
import { sweepOrganizationsJob } from './organization.ts';
import { pruneRequestsJob } from './request.ts';
import { remindSecretsJob, rotateSecretsJob } from './secret.ts';

export type { JobDefinition } from './define-job.ts';
export {
  advanceDeploymentJob,
  pruneArtifactsJob,
  pruneMetricsJob,
  remindSecretsJob,
  rollUpMetricsJob,
  rotateSecretsJob,
  sweepBenchmarksJob,
  sweepDeploymentsJob,
  sweepOrganizationsJob,
};

export const jobs = {
  'account.prune': pruneAccountsJob,
  'artifact.prune': pruneArtifactsJob,
  'benchmark.sweep': sweepBenchmarksJob,
  'deployment.advance': advanceDeploymentJob,
  'deployment.sweep': sweepDeploymentsJob,
  'metric.roll_up': rollUpMetricsJob,
  'metric.prune': pruneMetricsJob,
  'organization.sweep': sweepOrganizationsJob,
  'request.prune': pruneRequestsJob,
  'secret.remind': remindSecretsJob,
  'secret.rotate': rotateSecretsJob,
} as const;

export type JobName = keyof typeof jobs;
export type JobPayload<Name extends JobName> = z.infer<(typeof jobs)[Name]['payload']>;
