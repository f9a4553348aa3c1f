// The handler of every job. A job that is one call of a verb in system scope has its handler here.
import { pruneAccounts } from '@fairlead/core/account';
import { failOverdueBenchmarks } from '@fairlead/core/benchmark';
import { pruneMetrics } from '@fairlead/core/metric';
import { pruneRequests } from '@fairlead/core/request';
import { advanceAgentRolloutsHandler } from './agent-rollout.ts';
import { purgeAppsHandler } from './app.ts';
import { requestApprovalHandler } from './approval.ts';
import { pruneArtifactsHandler } from './artifact.ts';
import { runBackupHandler, sweepBackupsHandler } from './backup.ts';
import { benchmarkEventHandler, pruneBenchmarksHandler, scheduleBenchmarksHandler } from './benchmark.ts';
import {
  askRenewalsHandler,
  planCertificatesHandler,
  probeAuthoritiesHandler,
  proveCertificatesHandler,
  remindCertificatesHandler,
} from './certificate.ts';
import { verifyDashboardDomainsHandler } from './dashboard-domain.ts';
import { processDeliveriesHandler, pruneDeliveriesHandler, sweepDeliveriesHandler } from './delivery.ts';
import { recoverDeliveriesHandler } from './delivery-recovery.ts';
import { advanceDeploymentHandler, pruneDeploymentsHandler, sweepDeploymentsHandler } from './deployment.ts';
import { lookAtChecksHandler } from './deployment-checks.ts';
import { planBaseDomainsHandler } from './domain.ts';
import { sendGithubReportsHandler } from './github-report.ts';
import { syncGithubAppHandler, syncGithubAppsHandler } from './github-sync.ts';
import type { Handlers } from './handler.ts';
import { checkHostsHandler } from './host.ts';
import { moveMetricsHandler, rollUpMetricsHandler } from './metric.ts';
import { sweepOrganizationsHandler } from './organization.ts';
import { sweepPreviewsHandler } from './preview.ts';
import { remindSecretsHandler, rotateSecretsHandler } from './secret.ts';
import { checkUpdateHandler } from './update.ts';
import { advanceVolumeMoveHandler, sweepSnapshotsHandler, sweepVolumeMovesHandler } from './volume.ts';

export const handlers: Handlers = {
  'account.prune': async ({ database, clock, log }) => {
    await database.system('account.prune', (tx) => pruneAccounts({ tx, clock, log }));
  },
  'app.purge': purgeAppsHandler,
  'agent_rollout.advance': advanceAgentRolloutsHandler,
  'artifact.prune': pruneArtifactsHandler,
  'backup.run': runBackupHandler,
  'backup.sweep': sweepBackupsHandler,
  'benchmark.event': benchmarkEventHandler,
  'benchmark.prune': pruneBenchmarksHandler,
  'benchmark.schedule': scheduleBenchmarksHandler,
  'benchmark.sweep': async ({ database, clock, log }) => {
    await database.system('benchmark.sweep', (tx) => failOverdueBenchmarks({ tx, clock, log }));
  },
  'certificate.plan': planCertificatesHandler,
  'certificate.probe': probeAuthoritiesHandler,
  'certificate.prove': proveCertificatesHandler,
  'certificate.remind': remindCertificatesHandler,
  'certificate.renewal': askRenewalsHandler,
  'dashboard_domain.verify': verifyDashboardDomainsHandler,
  'delivery.process': processDeliveriesHandler,
  'delivery.prune': pruneDeliveriesHandler,
  'delivery.recover': recoverDeliveriesHandler,
  'delivery.sweep': sweepDeliveriesHandler,
  'deployment.advance': advanceDeploymentHandler,
  'deployment.checks': lookAtChecksHandler,
  'deployment.prune': pruneDeploymentsHandler,
  'deployment.request_approval': requestApprovalHandler,
  'deployment.sweep': sweepDeploymentsHandler,
  'domain.plan': planBaseDomainsHandler,
  'github.report': sendGithubReportsHandler,
  'github.sync': syncGithubAppsHandler,
  'github.sync_app': syncGithubAppHandler,
  'host.check': checkHostsHandler,
  'metric.move': moveMetricsHandler,
  'metric.prune': async ({ database, clock, log }) => {
    await database.system('metric.prune', (tx) => pruneMetrics({ tx, clock, log }));
  },
  'metric.roll_up': rollUpMetricsHandler,
  'organization.sweep': sweepOrganizationsHandler,
  'preview.sweep': sweepPreviewsHandler,
  'request.prune': async ({ database }) => {
    await database.system('request.prune', (tx) => pruneRequests({ tx }));
  },
  'secret.remind': remindSecretsHandler,
  'secret.rotate': rotateSecretsHandler,
  'update.check': checkUpdateHandler,
  'volume.snapshot': sweepSnapshotsHandler,
  'volume_move.advance': advanceVolumeMoveHandler,
  'volume_move.sweep': sweepVolumeMovesHandler,
};
