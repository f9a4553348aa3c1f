// The handler of every job.
import { pruneArtifactsHandler } from './artifact.ts';
import { sweepBenchmarksHandler } from './benchmark.ts';
import { advanceDeploymentHandler, sweepDeploymentsHandler } from './deployment.ts';
import type { Handlers } from './handler.ts';
import { pruneMetricsHandler, rollUpMetricsHandler } from './metric.ts';
import { sweepOrganizationsHandler } from './organization.ts';
import { remindSecretsHandler, rotateSecretsHandler } from './secret.ts';

export const handlers: Handlers = {
  'artifact.prune': pruneArtifactsHandler,
  'benchmark.sweep': sweepBenchmarksHandler,
  'deployment.advance': advanceDeploymentHandler,
  'deployment.sweep': sweepDeploymentsHandler,
  'metric.prune': pruneMetricsHandler,
  'metric.roll_up': rollUpMetricsHandler,
  'organization.sweep': sweepOrganizationsHandler,
  'secret.remind': remindSecretsHandler,
  'secret.rotate': rotateSecretsHandler,
};
