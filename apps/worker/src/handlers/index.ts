// The handler of every job. A job that is one call of a verb in system scope has its handler here.
import { pruneAccounts } from '@fairlead/core/account';
import { failOverdueBenchmarks } from '@fairlead/core/benchmark';
import { pruneMetrics } from '@fairlead/core/metric';
import { pruneRequests } from '@fairlead/core/request';
import { advanceAgentRolloutsHandler } from './agent-rollout.ts';
import { purgeAppsHandler } from './app.ts';
import { pruneArtifactsHandler } from './artifact.ts';
import { runBackupHandler, sweepBackupsHandler } from './backup.ts';
import { pruneBenchmarksHandler } from './benchmark.ts';
import { planCertificatesHandler } from './certificate.ts';
import { advanceDeploymentHandler, pruneDeploymentsHandler, sweepDeploymentsHandler } from './deployment.ts';
import type { Handlers } from './handler.ts';
import { moveMetricsHandler, rollUpMetricsHandler } from './metric.ts';
import { sweepOrganizationsHandler } from './organization.ts';
import { remindSecretsHandler, rotateSecretsHandler } from './secret.ts';

export const handlers: Handlers = {
  'account.prune': async ({ database, clock, log }) => {
    await database.system('account.prune', (tx) => pruneAccounts({ tx, clock, log }));
  },
  'app.purge': purgeAppsHandler,
  'agent_rollout.advance': advanceAgentRolloutsHandler,
  'artifact.prune': pruneArtifactsHandler,
  'backup.run': runBackupHandler,
  'backup.sweep': sweepBackupsHandler,
  'benchmark.prune': pruneBenchmarksHandler,
  'benchmark.sweep': async ({ database, clock, log }) => {
    await database.system('benchmark.sweep', (tx) => failOverdueBenchmarks({ tx, clock, log }));
  },
  'certificate.plan': planCertificatesHandler,
  'deployment.advance': advanceDeploymentHandler,
  'deployment.prune': pruneDeploymentsHandler,
  'deployment.sweep': sweepDeploymentsHandler,
  'metric.move': moveMetricsHandler,
  'metric.prune': async ({ database, clock, log }) => {
    await database.system('metric.prune', (tx) => pruneMetrics({ tx, clock, log }));
  },
  'metric.roll_up': rollUpMetricsHandler,
  'organization.sweep': sweepOrganizationsHandler,
  'request.prune': async ({ database }) => {
    await database.system('request.prune', (tx) => pruneRequests({ tx }));
  },
  'secret.remind': remindSecretsHandler,
  'secret.rotate': rotateSecretsHandler,
};
