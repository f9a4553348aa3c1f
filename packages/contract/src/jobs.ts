// Background jobs: name, payload, attempts and schedule of each. Definitions are data: handlers are in apps/worker,
// enqueueing in packages/db.
import { z } from 'zod';
import {
  appIdSchema,
  backupIdSchema,
  deploymentIdSchema,
  environmentIdSchema,
  githubAppIdSchema,
  organizationIdSchema,
  runIdSchema,
  volumeMoveIdSchema,
} from './ids.ts';

export interface JobDefinition<Name extends string = string, Schema extends z.ZodType = z.ZodType> {
  readonly name: Name;
  /**
   * `tenant`: belongs to one organization; its id is in the payload, and the handler opens its scope.
   * `system`: belongs to the control plane and may not be enqueued by a tenant.
   */
  readonly scope: 'tenant' | 'system';
  /** Schema of the payload, checked when enqueued and again when claimed: worker and sender may differ in version. */
  readonly payload: Schema;
  readonly attemptsMax: number;
  /**
   * Five cron fields, UTC, or a plain interval; null when it is only ever enqueued. `runsMax`: concurrent runs of an interval
   * job in one process. Default: 1. Use more only for jobs that skip organizations that an earlier run still processes.
   */
  readonly every: { readonly cron: string } | { readonly intervalMs: number; readonly runsMax?: number } | null;
}

function defineJob<const Name extends string, Schema extends z.ZodType>(
  definition: JobDefinition<Name, Schema>,
): JobDefinition<Name, Schema> {
  return definition;
}

/** Deletes old account events, ended sessions, and old sign-in attempts. */
const pruneAccountsJob = defineJob({
  name: 'account.prune',
  scope: 'system',
  payload: z.object({}),
  attemptsMax: 3,
  every: { cron: '23 * * * *' },
});

/** Deletes apps permanently whose delay has passed. Safe to run twice. */
const purgeAppsJob = defineJob({
  name: 'app.purge',
  scope: 'system',
  payload: z.object({}),
  attemptsMax: 1,
  every: { cron: '*/10 * * * *' },
});

/** Takes the next step of one deployment: decides, changes desired state. Safe to run twice. */
export const advanceDeploymentJob = defineJob({
  name: 'deployment.advance',
  scope: 'tenant',
  payload: z.object({ organizationId: organizationIdSchema, deploymentId: deploymentIdSchema }),
  attemptsMax: 10,
  every: null,
});

/** Emails members who may approve a deployment, once for each request. Safe to run twice. */
export const requestApprovalJob = defineJob({
  name: 'deployment.request_approval',
  scope: 'tenant',
  payload: z.object({ organizationId: organizationIdSchema, deploymentId: deploymentIdSchema }),
  attemptsMax: 3,
  every: null,
});

/** Deploys an app while a benchmark's load runs. Safe to run twice. */
export const benchmarkEventJob = defineJob({
  name: 'benchmark.event',
  scope: 'tenant',
  payload: z.object({ organizationId: organizationIdSchema, runId: runIdSchema }),
  attemptsMax: 3,
  every: null,
});

/** Orders certificates that are missing or due for renewal. Safe to run twice. */
const planCertificatesJob = defineJob({
  name: 'certificate.plan',
  scope: 'system',
  payload: z.object({}),
  attemptsMax: 1,
  every: { intervalMs: 5000 },
});

/** Tells of certificates that expire soon and are not renewed, once for each threshold. */
const remindCertificatesJob = defineJob({
  name: 'certificate.remind',
  scope: 'system',
  payload: z.object({}),
  attemptsMax: 3,
  every: { cron: '29 * * * *' },
});

/** Gives apps names below the base domains of their servers. Safe to run twice. */
const planBaseDomainsJob = defineJob({
  name: 'domain.plan',
  scope: 'system',
  payload: z.object({}),
  attemptsMax: 1,
  every: { intervalMs: 5000 },
});

/** Checks the DNS records of hosts that are due. Safe to run twice. */
const checkHostsJob = defineJob({
  name: 'host.check',
  scope: 'system',
  payload: z.object({}),
  attemptsMax: 1,
  every: { intervalMs: 3000 },
});

/** Asks for the dashboard under its new domains. Safe to run twice. */
const verifyDashboardDomainsJob = defineJob({
  name: 'dashboard_domain.verify',
  scope: 'system',
  payload: z.object({}),
  attemptsMax: 1,
  every: { intervalMs: 3000 },
});

/** Sets and removes the TXT records of orders. Safe to run twice. */
const proveCertificatesJob = defineJob({
  name: 'certificate.prove',
  scope: 'system',
  payload: z.object({}),
  attemptsMax: 1,
  every: { intervalMs: 2000 },
});

/** Asks if certificate authorities that did not answer are back. Safe to run twice. */
const probeAuthoritiesJob = defineJob({
  name: 'certificate.probe',
  scope: 'system',
  payload: z.object({}),
  attemptsMax: 1,
  every: { intervalMs: 60_000 },
});

/** Asks certificate authorities again when they want certificates to be renewed. Safe to run twice. */
const askRenewalsJob = defineJob({
  name: 'certificate.renewal',
  scope: 'system',
  payload: z.object({}),
  attemptsMax: 1,
  every: { intervalMs: 60_000 },
});

/** Takes the next step of each running agent rollout. Safe to run twice. */
const advanceAgentRolloutsJob = defineJob({
  name: 'agent_rollout.advance',
  scope: 'system',
  payload: z.object({}),
  attemptsMax: 1,
  every: { intervalMs: 5000 },
});

/** Deletes artifacts that nothing needs any more. */
const pruneArtifactsJob = defineJob({
  name: 'artifact.prune',
  scope: 'system',
  payload: z.object({}),
  attemptsMax: 1,
  every: { cron: '41 * * * *' },
});

/** Makes one backup of the control plane. */
export const runBackupJob = defineJob({
  name: 'backup.run',
  scope: 'system',
  payload: z.object({ backupId: backupIdSchema }),
  attemptsMax: 1,
  every: null,
});

/** Ends backups that lost their worker, and starts the one that is due. Safe to run twice. */
const sweepBackupsJob = defineJob({
  name: 'backup.sweep',
  scope: 'system',
  payload: z.object({}),
  attemptsMax: 1,
  every: { intervalMs: 15_000 },
});

/** Processes the stored deliveries of an organization's webhooks, oldest first. Safe to run twice. */
export const processDeliveriesJob = defineJob({
  name: 'delivery.process',
  scope: 'tenant',
  payload: z.object({ organizationId: organizationIdSchema }),
  attemptsMax: 3,
  every: null,
});

/** Enqueues the processing of deliveries that wait although they are due. Safe to run twice. */
const sweepDeliveriesJob = defineJob({
  name: 'delivery.sweep',
  scope: 'system',
  payload: z.object({}),
  attemptsMax: 1,
  every: { intervalMs: 5000 },
});

/** Fetches deliveries that GitHub sent and that did not arrive. Safe to run twice. */
const recoverDeliveriesJob = defineJob({
  name: 'delivery.recover',
  scope: 'system',
  payload: z.object({}),
  attemptsMax: 1,
  every: { intervalMs: 5000, runsMax: 32 },
});

/** Deletes old deliveries. Safe to run twice. */
const pruneDeliveriesJob = defineJob({
  name: 'delivery.prune',
  scope: 'system',
  payload: z.object({}),
  attemptsMax: 1,
  every: { cron: '31 * * * *' },
});

/** Deletes previews that ended, and starts those that waited for a place. Safe to run twice. */
const sweepPreviewsJob = defineJob({
  name: 'preview.sweep',
  scope: 'system',
  payload: z.object({}),
  attemptsMax: 1,
  every: { intervalMs: 5000 },
});

/** Sends due reports about deployments and comments about previews to GitHub. Safe to run twice. */
const sendGithubReportsJob = defineJob({
  name: 'github.report',
  scope: 'system',
  payload: z.object({}),
  attemptsMax: 1,
  every: { intervalMs: 3000, runsMax: 32 },
});

/** Copies installations and repositories of GitHub Apps. Safe to run twice. */
const syncGithubAppsJob = defineJob({
  name: 'github.sync',
  scope: 'system',
  payload: z.object({}),
  attemptsMax: 1,
  every: { cron: '*/10 * * * *' },
});

/** Copies installations and repositories of one GitHub App, because GitHub told of a change. Safe to run twice. */
export const syncGithubAppJob = defineJob({
  name: 'github.sync_app',
  scope: 'tenant',
  payload: z.object({ organizationId: organizationIdSchema, githubAppId: githubAppIdSchema }),
  attemptsMax: 10,
  every: null,
});

/** Looks for a newer release once a day. Safe to run twice. */
const checkUpdateJob = defineJob({
  name: 'update.check',
  scope: 'system',
  payload: z.object({}),
  attemptsMax: 1,
  every: { intervalMs: 60 * 60_000 },
});

/** Finds deployments that are overdue or have lost their worker, and resumes or fails them. */
export const sweepDeploymentsJob = defineJob({
  name: 'deployment.sweep',
  scope: 'system',
  payload: z.object({}),
  attemptsMax: 1,
  every: { intervalMs: 10_000 },
});

/** Looks at checks that deployments wait for. Safe to run twice. */
const lookAtChecksJob = defineJob({
  name: 'deployment.checks',
  scope: 'system',
  payload: z.object({}),
  attemptsMax: 1,
  every: { intervalMs: 2000, runsMax: 32 },
});

/** Deletes old deployments with their build logs. Safe to run twice. */
const pruneDeploymentsJob = defineJob({
  name: 'deployment.prune',
  scope: 'system',
  payload: z.object({}),
  attemptsMax: 1,
  every: { cron: '7 * * * *' },
});

/** Deletes old benchmark runs. Safe to run twice. */
const pruneBenchmarksJob = defineJob({
  name: 'benchmark.prune',
  scope: 'system',
  payload: z.object({}),
  attemptsMax: 1,
  every: { cron: '11 * * * *' },
});

/** Fails runs that their server did not finish in time. */
const sweepBenchmarksJob = defineJob({
  name: 'benchmark.sweep',
  scope: 'system',
  payload: z.object({}),
  attemptsMax: 1,
  every: { intervalMs: 30_000 },
});

/** Starts the runs of benchmark plans that are due. Safe to run twice. */
const scheduleBenchmarksJob = defineJob({
  name: 'benchmark.schedule',
  scope: 'system',
  payload: z.object({}),
  attemptsMax: 1,
  every: { intervalMs: 15_000 },
});

/** Sums seconds to minutes and minutes to hours, merging histograms. Safe to run twice. */
const rollUpMetricsJob = defineJob({
  name: 'metric.roll_up',
  scope: 'system',
  payload: z.object({}),
  attemptsMax: 3,
  every: { cron: '* * * * *' },
});

/** Moves an app's samples to the environments of its new project. Safe to run twice. */
export const moveMetricsJob = defineJob({
  name: 'metric.move',
  scope: 'tenant',
  payload: z.object({
    organizationId: organizationIdSchema,
    appId: appIdSchema,
    environments: z.array(z.object({ from: environmentIdSchema, to: environmentIdSchema })),
  }),
  attemptsMax: 10,
  every: null,
});

/** Makes partitions ahead and drops those past their age. */
const pruneMetricsJob = defineJob({
  name: 'metric.prune',
  scope: 'system',
  payload: z.object({}),
  attemptsMax: 3,
  every: { cron: '17 * * * *' },
});

/** Deletes organizations at the end of their delay, step by step. Safe to run twice. */
const sweepOrganizationsJob = defineJob({
  name: 'organization.sweep',
  scope: 'system',
  payload: z.object({}),
  attemptsMax: 1,
  every: { intervalMs: 60_000 },
});

/** Deletes counts of ended windows, and streams of dead web processes. */
const pruneRequestsJob = defineJob({
  name: 'request.prune',
  scope: 'system',
  payload: z.object({}),
  attemptsMax: 1,
  every: { cron: '*/10 * * * *' },
});

/** Carries values over to newer keys: data keys to the newest master key, values to the newest data key. Safe to run twice. */
const rotateSecretsJob = defineJob({
  name: 'secret.rotate',
  scope: 'system',
  payload: z.object({}),
  attemptsMax: 1,
  every: { intervalMs: 60_000 },
});

/** Tells of secrets that expire soon, once each. */
const remindSecretsJob = defineJob({
  name: 'secret.remind',
  scope: 'system',
  payload: z.object({}),
  attemptsMax: 3,
  every: { cron: '23 * * * *' },
});

/** Takes the next step of one move of an app with its volumes. Safe to run twice. */
export const advanceVolumeMoveJob = defineJob({
  name: 'volume_move.advance',
  scope: 'tenant',
  payload: z.object({ organizationId: organizationIdSchema, moveId: volumeMoveIdSchema }),
  attemptsMax: 3,
  every: null,
});

/** Advances every active move, and lets servers delete the volumes that moved apps have left. Safe to run twice. */
const sweepVolumeMovesJob = defineJob({
  name: 'volume_move.sweep',
  scope: 'system',
  payload: z.object({}),
  attemptsMax: 1,
  every: { intervalMs: 5000 },
});

/** Requests snapshots of volumes that are due, and deletes old ones. Safe to run twice. */
const sweepSnapshotsJob = defineJob({
  name: 'volume.snapshot',
  scope: 'system',
  payload: z.object({}),
  attemptsMax: 1,
  every: { intervalMs: 30_000 },
});

/** All jobs by name. A type requires a handler in the worker for each. */
export const jobs = {
  'account.prune': pruneAccountsJob,
  'app.purge': purgeAppsJob,
  'agent_rollout.advance': advanceAgentRolloutsJob,
  'artifact.prune': pruneArtifactsJob,
  'backup.run': runBackupJob,
  'backup.sweep': sweepBackupsJob,
  'benchmark.event': benchmarkEventJob,
  'benchmark.prune': pruneBenchmarksJob,
  'benchmark.schedule': scheduleBenchmarksJob,
  'benchmark.sweep': sweepBenchmarksJob,
  'certificate.plan': planCertificatesJob,
  'certificate.probe': probeAuthoritiesJob,
  'certificate.prove': proveCertificatesJob,
  'certificate.remind': remindCertificatesJob,
  'certificate.renewal': askRenewalsJob,
  'dashboard_domain.verify': verifyDashboardDomainsJob,
  'delivery.process': processDeliveriesJob,
  'delivery.prune': pruneDeliveriesJob,
  'delivery.recover': recoverDeliveriesJob,
  'delivery.sweep': sweepDeliveriesJob,
  'deployment.advance': advanceDeploymentJob,
  'deployment.checks': lookAtChecksJob,
  'deployment.prune': pruneDeploymentsJob,
  'deployment.request_approval': requestApprovalJob,
  'deployment.sweep': sweepDeploymentsJob,
  'domain.plan': planBaseDomainsJob,
  'github.report': sendGithubReportsJob,
  'github.sync': syncGithubAppsJob,
  'github.sync_app': syncGithubAppJob,
  'host.check': checkHostsJob,
  'metric.move': moveMetricsJob,
  'metric.roll_up': rollUpMetricsJob,
  'metric.prune': pruneMetricsJob,
  'organization.sweep': sweepOrganizationsJob,
  'preview.sweep': sweepPreviewsJob,
  'request.prune': pruneRequestsJob,
  'secret.remind': remindSecretsJob,
  'secret.rotate': rotateSecretsJob,
  'update.check': checkUpdateJob,
  'volume.snapshot': sweepSnapshotsJob,
  'volume_move.advance': advanceVolumeMoveJob,
  'volume_move.sweep': sweepVolumeMovesJob,
} as const;

export type JobName = keyof typeof jobs;
export type JobPayload<Name extends JobName> = z.infer<(typeof jobs)[Name]['payload']>;
