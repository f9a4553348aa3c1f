// Sends due reports about deployments to GitHub: check run, commit status and deployment. Ids are stored as soon as GitHub
// gives them, and an attempt after a failure looks for what the one before created, so nothing is doubled.
import type { DeploymentId } from '@fairlead/contract/ids';
import { parseId } from '@fairlead/contract/ids';
import { listCheckActions } from '@fairlead/core/check-action';
import { domainUrl } from '@fairlead/core/domain';
import {
  annotationsOf,
  type ClaimedReport,
  claimReports,
  loadReport,
  type ReportContent,
  type ReportPhase,
  recordReport,
  recordReportFailure,
  recordReportId,
  reportTitle,
  retryAt,
} from '@fairlead/core/github';
import { type Ctx, type OrganizationCtx, withoutStyles } from '@fairlead/core/kernel';
import { readLog } from '@fairlead/core/log';
import { type CheckRun, GithubError, type RepositoryPlace } from '@fairlead/github';
import { sendGithubComments } from './github-comment.ts';
import type { Handler, HandlerParts } from './handler.ts';

const permissions = { checks: 'write', statuses: 'write', deployments: 'write', metadata: 'read' } as const;
/** Lines of a failed step in the check run. */
const linesShown = 40;
/** Last lines of the log in which errors with a place are looked for. */
const linesRead = 2000;
/** Attempts against refusals, which a person may mend meanwhile. */
const refusalsMax = 10;

export const sendGithubReportsHandler: Handler<'github.report'> = async (parts) => {
  const { database, clock, turns } = parts;
  const claimed = await database.system('github.report', (tx) =>
    claimReports({ tx, clock }, turns.busy('github.report')),
  );
  await turns.runEach('github.report', claimed, {
    work: (report) => sendReport(parts, report),
    failed: 'a report to GitHub failed',
  });
  await sendGithubComments(parts);
};

type InTenant = <T>(work: (ctx: OrganizationCtx) => Promise<T>) => Promise<T>;

async function sendReport(parts: HandlerParts, report: ClaimedReport): Promise<void> {
  const { database, clock, log, secretKeys } = parts;
  const { organizationId } = report;
  const inTenant: InTenant = (work) =>
    database.tenant(organizationId, (tx) => work({ tx, organizationId, clock, log }));
  try {
    const content = await inTenant((ctx) => loadReport(ctx, report, secretKeys));
    if (content !== null) await send(parts, report, content, inTenant);
    await inTenant((ctx) => recordReport(ctx, report, content));
  } catch (error) {
    if (!(error instanceof GithubError)) throw error;
    const { code, message: problem } = error;
    const isRefusal = code !== 'unreachable' && code !== 'rate_limited';
    const at =
      isRefusal && report.attempt >= refusalsMax ? null : (error.retryAt ?? retryAt(clock.now(), report.attempt));
    log.warn({ err: error, deploymentId: report.deploymentId, at }, 'GitHub did not take a report');
    await inTenant((ctx) => recordReportFailure(ctx, report, { problem, at }));
  }
}

/** Sends what GitHub lacks: everything of a new phase, or only the check run for an answer on it. */
async function send(
  parts: HandlerParts,
  report: ClaimedReport,
  content: ReportContent,
  inTenant: InTenant,
): Promise<void> {
  const isNewPhase = content.phase !== report.sentPhase;
  if (!isNewPhase && content.note === report.sentNote) return;
  const { github, publicUrl } = parts;
  const { key, installationId, repositoryId, fullName } = content;
  const { token } = await github.createToken(key, installationId, { permissions, repositoryIds: [repositoryId] });
  const link =
    publicUrl === null ? null : `${publicUrl}/${content.organizationSlug}/deployments/${report.deploymentId}`;
  const place = { baseUrl: key.baseUrl, token, fullName };
  const sending: Sending = { parts, report, content, inTenant, place, link };
  await sendCheckRun(sending);
  if (!isNewPhase) return;
  await sendStatus(sending);
  // A deployment that never began is not one for GitHub.
  if (content.phase === 'queued' || (content.startedAt === null && report.githubDeploymentId === null)) return;
  await sendDeployment(sending);
}

interface Sending {
  readonly parts: HandlerParts;
  readonly report: ClaimedReport;
  readonly content: ReportContent;
  readonly inTenant: InTenant;
  readonly place: RepositoryPlace;
  /** Page of the deployment; null without a public URL. */
  readonly link: string | null;
}

/** True if an attempt that failed or crashed may have sent something. */
function mayExist({ attempt }: ClaimedReport): boolean {
  return attempt > 1;
}

async function sendCheckRun({ parts, report, content, inTenant, place, link }: Sending): Promise<void> {
  const { github } = parts;
  const { commitHash } = content;
  const { deploymentId: externalId } = report;
  const checkRun = await checkRunOf(parts, report, content, inTenant);
  const known =
    report.checkRunId ?? (mayExist(report) ? await github.findCheckRun(place, commitHash, externalId) : null);
  if (known !== null) {
    const { annotations = [], ...rest } = checkRun;
    const isSent = mayExist(report) && annotations.length > 0 && (await github.hasAnnotations(place, known));
    await github.updateCheckRun(place, known, isSent ? rest : checkRun);
  }
  const checkRunId =
    known ?? (await github.createCheckRun(place, { ...checkRun, commitHash, externalId, detailsUrl: link }));
  if (report.checkRunId === null) await inTenant((ctx) => recordReportId(ctx, report, { checkRunId }));
}

async function sendStatus({ parts, report, content, place, link }: Sending): Promise<void> {
  const { github } = parts;
  const { phase, commitHash, hasStatus } = content;
  if (!hasStatus) return;
  const status = {
    state: statusStates[phase],
    context: checkName(content),
    description: reportTitle(content),
    targetUrl: link,
  } as const;
  if (mayExist(report) && (await github.hasStatus(place, commitHash, status))) return;
  await github.createStatus(place, commitHash, status);
}

async function sendDeployment({ parts, report, content, inTenant, place, link }: Sending): Promise<void> {
  const { github } = parts;
  const { commitHash, phase, domain } = content;
  const { deploymentId: externalId } = report;
  const known =
    report.githubDeploymentId ?? (mayExist(report) ? await github.findDeployment(place, commitHash, externalId) : null);
  const githubDeploymentId =
    known ??
    (await github.createDeployment(place, {
      commitHash,
      environment: environmentOf(content),
      isProduction: content.isProduction,
      description: `Deployment ${content.number} of ${content.appName}`,
      externalId,
    }));
  if (report.githubDeploymentId === null) await inTenant((ctx) => recordReportId(ctx, report, { githubDeploymentId }));
  const status = {
    state: deploymentStates[phase],
    logUrl: link,
    environmentUrl: domain === null ? null : domainUrl(domain, domain.onLocalServer, parts.links),
    description: reportTitle(content),
  } as const;
  if (mayExist(report) && (await github.hasDeploymentStatus(place, githubDeploymentId, status))) return;
  await github.createDeploymentStatus(place, githubDeploymentId, status);
}

const statusStates = {
  queued: 'pending',
  in_progress: 'pending',
  live: 'success',
  failed: 'failure',
  cancelled: 'error',
  superseded: 'error',
} as const satisfies Record<ReportPhase, string>;

const deploymentStates = {
  queued: 'queued',
  in_progress: 'in_progress',
  live: 'success',
  failed: 'failure',
  cancelled: 'inactive',
  superseded: 'inactive',
} as const satisfies Record<ReportPhase, string>;

const conclusions = {
  live: 'success',
  failed: 'failure',
  cancelled: 'cancelled',
  superseded: 'skipped',
} as const;

/** Apps of one repository have environments of their own at GitHub. */
function environmentOf({ appName, environmentName }: ReportContent): string {
  return `${appName} / ${environmentName}`;
}

function checkName(content: ReportContent): string {
  return `Fairlead: ${environmentOf(content)}`;
}

async function checkRunOf(
  parts: HandlerParts,
  report: ClaimedReport,
  content: ReportContent,
  inTenant: InTenant,
): Promise<CheckRun> {
  const { phase, failedStep, failureMessage, startedAt, finishedAt, note, gates } = content;
  const name = checkName(content);
  const title = reportTitle(content);
  const started = startedAt === null ? {} : { startedAt };
  const summary = (text: string) => [text, ...gates, note].filter((part) => part !== '').join('\n\n');
  if (phase === 'queued' || phase === 'in_progress') {
    return { name, status: phase, title, summary: summary(title), ...started };
  }
  const lines = phase === 'failed' && failedStep !== null ? await failedLines(parts, report, failedStep) : [];
  return {
    name,
    status: 'completed',
    conclusion: conclusions[phase],
    title: failedStep === null ? title : `${title} at step “${failedStep}”`,
    summary: summary(failureMessage ?? title),
    ...(lines.length === 0
      ? {}
      : { text: ['```text', ...lines.slice(-linesShown).map(withoutFence), '```'].join('\n') }),
    // An answer on a check run that is complete already repeats none.
    annotations: phase === report.sentPhase ? [] : annotationsOf(lines, content.rootFolder),
    actions: await inTenant((ctx) => listCheckActions(ctx, report)),
    completedAt: finishedAt ?? parts.clock.now(),
    ...started,
  };
}

/** Returns the lines of the failed step among the last of the log, without colors, which GitHub would show as codes. */
async function failedLines(parts: HandlerParts, report: ClaimedReport, step: string): Promise<readonly string[]> {
  const { database, logs, clock, log } = parts;
  const { organizationId } = report;
  const deploymentId: DeploymentId = parseId('dep', report.deploymentId);
  const read = (fromLine: number, limit: number) =>
    database.tenant(organizationId, (tx) => {
      const ctx: Ctx = { tx, organizationId, clock, log, actor: { kind: 'system', reason: 'github.report' } };
      return readLog(ctx, { deploymentId, fromLine, limit }, logs);
    });
  const { totalLines } = await read(0, 1);
  const { lines } = await read(Math.max(0, totalLines - linesRead), linesRead);
  return lines.filter((line) => line.step === step).map(({ text }) => withoutStyles(text));
}

/** Keeps a line from ending the block of the log. */
function withoutFence(line: string): string {
  return line.replaceAll('```', "'''");
}
