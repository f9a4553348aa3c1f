// The handler of every job.
import { pruneAccountsHandler } from './account.ts';
import { pruneArtifactsHandler } from './artifact.ts';
import { sweepBenchmarksHandler } from './benchmark.ts';
import { advanceDeploymentHandler, sweepDeploymentsHandler } from './deployment.ts';
import type { Handlers } from './handler.ts';
import { pruneMetricsHandler, rollUpMetricsHandler } from './metric.ts';
import { sweepOrganizationsHandler } from './organization.ts';
import { pruneRequestsHandler } from './request.ts';
import { remindSecretsHandler, rotateSecretsHandler } from './secret.ts';

export const handlers: Handlers = {
  'account.prune': pruneAccountsHandler,
  'artifact.prune': pruneArtifactsHandler,
  'benchmark.sweep': sweepBenchmarksHandler,
  'deployment.advance': advanceDeploymentHandler,
  'deployment.sweep': sweepDeploymentsHandler,
  'metric.prune': pruneMetricsHandler,
  'metric.roll_up': rollUpMetricsHandler,
  'organization.sweep': sweepOrganizationsHandler,
  'request.prune': pruneRequestsHandler,
  'secret.remind': remindSecretsHandler,
  'secret.rotate': rotateSecretsHandler,
};
