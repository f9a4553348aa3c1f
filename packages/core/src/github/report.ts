// Outbox of reports to GitHub. A change of a deployment marks its report due in the same transaction; the worker sends what
// GitHub lacks and stores what it answered, so that a crash loses no report.
import type { OrganizationId } from '@fairlead/contract/ids';
import { parseId } from '@fairlead/contract/ids';
import { describeGate, judgeGate } from '../benchmark/index.ts';
import { settingsSchema } from '../config/schema.ts';
import type { OrganizationCtx, SystemCtx } from '../kernel/index.ts';
import type { SecretKeys } from '../secret/index.ts';
import { type GithubAppKey, requireAppKey } from './app-key.ts';
import { touchCommentOf } from './comment.ts';
import { stateOf } from './list-github-apps.ts';
import { type ReportPhase, reportPhaseOf } from './report-rules.ts';

/** A worker that dies returns its reports after this time. */
const leaseMs = 2 * 60_000;
const batch = 10;

/** Marks the report of a deployment, and the comment about its preview, as due, if its app is built from a repository of a GitHub App. */
export async function touchReport(
  ctx: OrganizationCtx,
  { id, appId, environmentId }: { readonly id: string; readonly appId: string; readonly environmentId: string },
): Promise<void> {
  await touchCommentOf(ctx, { environmentId });
  const { tx, organizationId, clock } = ctx;
  if ((await tx.appRepository.count({ where: { appId, organizationId } })) === 0) return;
  // The attempts stay: one that ended in a crash may have left something at GitHub.
  const due = { nextAttemptAt: clock.now(), problem: '' };
  await tx.githubReport.upsert({
    where: { deploymentId: id, organizationId },
    create: { ...due, deploymentId: id, organizationId },
    update: { ...due, version: { increment: 1 } },
  });
}

/** Answers on the check run of a deployment; it has one if its report was sent. */
export async function noteOnReport(
  { tx, organizationId, clock }: OrganizationCtx,
  { deploymentId }: { readonly deploymentId: string },
  note: string,
): Promise<void> {
  const data = { note, nextAttemptAt: clock.now(), problem: '', version: { increment: 1 } };
  await tx.githubReport.updateMany({ where: { deploymentId, organizationId }, data });
}

export interface ClaimedReport {
  readonly organizationId: OrganizationId;
  readonly deploymentId: string;
  readonly version: number;
  /** 1: GitHub has nothing of an earlier attempt. */
  readonly attempt: number;
  readonly sentPhase: string | null;
  readonly sentNote: string;
  readonly checkRunId: number | null;
  readonly githubDeploymentId: number | null;
}

/** Takes due reports for a while; another worker takes others. `busy`: organizations to leave out. */
export async function claimReports(
  { tx, clock }: Pick<SystemCtx, 'tx' | 'clock'>,
  busy: readonly string[],
): Promise<readonly ClaimedReport[]> {
  const now = clock.now();
  const rows = await tx.$queryRaw<{ id: string }[]>`
    SELECT deployment_id AS id FROM github_report WHERE next_attempt_at <= ${now} AND organization_id <> ALL (${[...busy]}::text[])
    ORDER BY next_attempt_at, deployment_id LIMIT ${batch} FOR UPDATE SKIP LOCKED`;
  const where = { deploymentId: { in: rows.map(({ id }) => id) } };
  const nextAttemptAt = new Date(now.getTime() + leaseMs);
  await tx.githubReport.updateMany({ where, data: { nextAttemptAt, attempts: { increment: 1 } } });
  const claimed = await tx.githubReport.findMany({ where, orderBy: { deploymentId: 'asc' } });
  return claimed.map((row) => ({
    organizationId: parseId('org', row.organizationId),
    deploymentId: row.deploymentId,
    version: row.version,
    attempt: row.attempts,
    sentPhase: row.sentPhase,
    sentNote: row.sentNote,
    checkRunId: row.checkRunId === null ? null : Number(row.checkRunId),
    githubDeploymentId: row.githubDeploymentId === null ? null : Number(row.githubDeploymentId),
  }));
}

export interface ReportContent {
  readonly key: GithubAppKey;
  /** At GitHub. */
  readonly installationId: number;
  readonly repositoryId: number;
  readonly fullName: string;
  readonly commitHash: string;
  readonly phase: ReportPhase;
  readonly appName: string;
  readonly rootFolder: string;
  readonly environmentName: string;
  readonly isProduction: boolean;
  readonly number: number;
  readonly organizationSlug: string;
  /** Answer to what a person asked for on the check run; empty: nothing. */
  readonly note: string;
  readonly awaitsApproval: boolean;
  /** False: a newer deployment of the same commit has the commit status. */
  readonly hasStatus: boolean;
  readonly failureMessage: string | null;
  readonly failedStep: string | null;
  /** Result of the benchmark gate on each server that measured, a sentence each. */
  readonly gates: readonly string[];
  /** First domain in the environment, and whether the local server serves it; null without one. */
  readonly domain: { readonly host: string; readonly pathPrefix: string; readonly onLocalServer: boolean } | null;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
}

/** Null: there is nothing to report yet, or nothing that GitHub would take. */
export async function loadReport(
  ctx: OrganizationCtx,
  { deploymentId }: Pick<ClaimedReport, 'deploymentId'>,
  keys: SecretKeys,
): Promise<ReportContent | null> {
  const { tx, organizationId } = ctx;
  const row = await tx.deployment.findFirst({
    where: { id: deploymentId, organizationId },
    select: {
      appId: true,
      environmentId: true,
      number: true,
      state: true,
      ref: true,
      commitHash: true,
      failureMessage: true,
      startedAt: true,
      finishedAt: true,
      app: { select: { name: true, rootFolder: true, repository: { include: { installation: true } } } },
      environment: { select: { name: true, protected: true } },
      release: { select: { config: { select: { settings: true } } } },
      servers: { select: { state: true, gateRows: true }, orderBy: { position: 'asc' } },
      steps: { where: { state: 'failed' }, select: { name: true }, take: 1 },
      approval: { select: { state: true } },
      githubReport: { select: { note: true } },
    },
  });
  const link = row?.app.repository ?? null;
  if (row === null || link === null || link.lostAt !== null || stateOf(link.installation) !== 'active') return null;
  const commitHash = row.commitHash ?? (/^[0-9a-f]{40}$/.test(row.ref) ? row.ref : null);
  if (commitHash === null) return null;
  const { appId, environmentId, number } = row;
  const newer = { organizationId, appId, environmentId, commitHash, number: { gt: number } };
  const [placement, domain, organization, newerCount] = await Promise.all([
    tx.placement.findFirst({ where: { appId, environmentId, organizationId }, select: placementColumns }),
    tx.domain.findFirst({ where: { appId, environmentId, organizationId }, orderBy: { createdAt: 'asc' } }),
    tx.organization.findFirstOrThrow({ where: { id: organizationId }, select: { slug: true } }),
    tx.deployment.count({ where: newer }),
  ]);
  return {
    key: await requireAppKey(ctx, link.installation.githubAppId, keys),
    installationId: Number(link.installation.installationId),
    repositoryId: Number(link.repositoryId),
    fullName: link.fullName,
    commitHash,
    phase: reportPhaseOf(row.state),
    appName: row.app.name,
    rootFolder: row.app.rootFolder,
    environmentName: row.environment.name,
    isProduction: row.environment.protected || placement?.isPrimary === true,
    number,
    organizationSlug: organization.slug,
    note: row.githubReport?.note ?? '',
    awaitsApproval: row.state === 'queued' && row.approval?.state === 'pending',
    hasStatus: newerCount === 0,
    failureMessage: row.failureMessage,
    failedStep: row.steps[0]?.name ?? null,
    gates: gatesOf(row.release?.config?.settings, row.servers),
    domain: domain && {
      host: domain.host,
      pathPrefix: domain.pathPrefix,
      onLocalServer: placement?.servers[0]?.server.isLocal === true,
    },
    startedAt: row.startedAt,
    finishedAt: row.finishedAt,
  };
}

interface MeasuredServer {
  readonly state: string;
  readonly gateRows: unknown;
}

function gatesOf(settings: unknown, servers: readonly MeasuredServer[]): string[] {
  const gate = settingsSchema.parse(settings ?? {}).benchmarkGate;
  if (gate === null) return [];
  return servers.flatMap(({ state, gateRows }) =>
    gateRows === null ? [] : [describeGate(judgeGate(gate, gateRows, state !== 'rolling_out'))],
  );
}

const placementColumns = {
  isPrimary: true,
  servers: { select: { server: { select: { isLocal: true } } }, orderBy: { position: 'asc' }, take: 1 },
} as const;

type ReportRef = Pick<ClaimedReport, 'deploymentId' | 'version'>;

/** Stores an id that GitHub gave, at once, so that no later attempt creates a second one. */
export async function recordReportId(
  { tx, organizationId }: OrganizationCtx,
  { deploymentId }: ReportRef,
  ids: { readonly checkRunId?: number; readonly githubDeploymentId?: number },
): Promise<void> {
  await tx.githubReport.updateMany({ where: { deploymentId, organizationId }, data: ids });
}

/** Ends a report, unless the deployment changed meanwhile. `content`: null if there was nothing to send. */
export async function recordReport(
  { tx, organizationId }: OrganizationCtx,
  { deploymentId, version }: ReportRef,
  content: Pick<ReportContent, 'phase' | 'note'> | null,
): Promise<void> {
  const sent = content === null ? {} : { sentPhase: content.phase, sentNote: content.note };
  await tx.githubReport.updateMany({ where: { deploymentId, organizationId }, data: sent });
  const where = { deploymentId, organizationId, version };
  await tx.githubReport.updateMany({ where, data: { attempts: 0, nextAttemptAt: null } });
}

/** `at`: time of the next attempt; null gives up. */
export async function recordReportFailure(
  { tx, organizationId }: OrganizationCtx,
  { deploymentId, version }: ReportRef,
  { problem, at }: { readonly problem: string; readonly at: Date | null },
): Promise<void> {
  const where = { deploymentId, organizationId, version };
  await tx.githubReport.updateMany({ where, data: { problem, nextAttemptAt: at } });
}
