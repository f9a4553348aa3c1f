// Holds a push's deployment until named checks of its commit at GitHub have passed. Events of checks only wake the wait: the
// worker asks GitHub, so that a lost or late event decides nothing.
import { type DeploymentId, type OrganizationId, parseId } from '@fairlead/contract/ids';
import { type GithubAppKey, requireAppKey } from '../github/index.ts';
import { type Ctx, notifyChange, type OrganizationCtx, type SystemCtx } from '../kernel/index.ts';
import { lockApps } from '../placement/index.ts';
import type { SecretKeys } from '../secret/index.ts';
import { applyStep, enqueueAdvance } from './apply-step.ts';
import { auditDeployment } from './audit-deployment.ts';
import { type CheckResult, decideChecks } from './decide-checks.ts';
import { type Failure, step } from './machine.ts';
import { type DeploymentRow, findDeployment, loadMachine } from './store.ts';
import { supersedeWaiting } from './supersede-waiting.ts';

/** Pause between looks without an event. */
const lookMs = 60_000;

export interface RequiredChecks {
  readonly commitHash: string;
  readonly names: readonly string[];
  readonly timeoutMinutes: number;
}

export async function createCheckWait(
  { tx, organizationId, clock }: OrganizationCtx,
  deploymentId: DeploymentId,
  { commitHash, names, timeoutMinutes }: RequiredChecks,
): Promise<void> {
  const now = clock.now();
  const deadlineAt = new Date(now.getTime() + timeoutMinutes * 60_000);
  const lists = { names: [...names], pending: [...names] };
  await tx.deploymentCheckWait.create({
    data: { deploymentId, organizationId, commitHash, ...lists, dueAt: now, deadlineAt },
  });
}

export async function awaitsChecks(ctx: OrganizationCtx, deploymentId: string): Promise<boolean> {
  return (await findWait(ctx, deploymentId)) !== null;
}

export async function listPendingChecks(ctx: OrganizationCtx, deploymentId: string): Promise<readonly string[]> {
  return (await findWait(ctx, deploymentId))?.pending ?? [];
}

async function findWait({ tx, organizationId }: OrganizationCtx, deploymentId: string) {
  return tx.deploymentCheckWait.findFirst({ where: { deploymentId, organizationId, dueAt: { not: null } } });
}

/** Looks soon at the waits for a commit: one of its checks has changed. */
export async function wakeCheckWaits(
  { tx, clock }: Pick<SystemCtx, 'tx' | 'clock'>,
  { organizationId, commitHash }: { readonly organizationId: OrganizationId; readonly commitHash: string },
): Promise<void> {
  const where = { organizationId, commitHash, dueAt: { gt: clock.now() } };
  await tx.deploymentCheckWait.updateMany({ where, data: { dueAt: clock.now() } });
}

export interface DueCheckWait {
  readonly organizationId: OrganizationId;
  readonly deploymentId: DeploymentId;
}

/** Takes due waits for a while; another worker takes others. `busy`: organizations to leave out. */
export async function claimCheckWaits(
  { tx, clock }: Pick<SystemCtx, 'tx' | 'clock'>,
  busy: readonly string[],
): Promise<readonly DueCheckWait[]> {
  const now = clock.now();
  const rows = await tx.$queryRaw<{ organizationId: string; deploymentId: string }[]>`
    UPDATE deployment_check_wait SET due_at = ${new Date(now.getTime() + lookMs)}
    WHERE deployment_id IN (
      SELECT deployment_id FROM deployment_check_wait WHERE due_at <= ${now} AND organization_id <> ALL (${[...busy]}::text[])
      ORDER BY due_at LIMIT 50 FOR UPDATE SKIP LOCKED)
    RETURNING organization_id AS "organizationId", deployment_id AS "deploymentId"`;
  return rows.map((row) => ({
    organizationId: parseId('org', row.organizationId),
    deploymentId: parseId('dep', row.deploymentId),
  }));
}

export interface CheckedCommit {
  readonly key: GithubAppKey;
  /** At GitHub. */
  readonly installationId: number;
  readonly repositoryId: number;
  readonly fullName: string;
  readonly commitHash: string;
}

/** Null: the deployment no longer waits, or its repository is no longer linked. */
export async function loadCheckedCommit(
  ctx: OrganizationCtx,
  { deploymentId }: Pick<DueCheckWait, 'deploymentId'>,
  keys: SecretKeys,
): Promise<CheckedCommit | null> {
  const { tx, organizationId } = ctx;
  const wait = await tx.deploymentCheckWait.findFirst({
    where: { deploymentId, organizationId, dueAt: { not: null } },
    select: {
      commitHash: true,
      deployment: { select: { app: { select: { repository: { include: { installation: true } } } } } },
    },
  });
  const link = wait?.deployment.app.repository ?? null;
  if (wait === null || link === null) return null;
  return {
    key: await requireAppKey(ctx, link.installation.githubAppId, keys),
    installationId: Number(link.installation.installationId),
    repositoryId: Number(link.repositoryId),
    fullName: link.fullName,
    commitHash: wait.commitHash,
  };
}

/** Starts, holds or fails the deployment. `results`: null if GitHub could not be asked. */
export async function recordChecks(
  ctx: Ctx,
  { deploymentId }: Pick<DueCheckWait, 'deploymentId'>,
  results: readonly CheckResult[] | null,
): Promise<void> {
  const seen = await findDeployment(ctx, deploymentId);
  if (seen === null) return;
  await lockApps(ctx, [seen.appId]);
  const [row, wait] = [await findDeployment(ctx, deploymentId), await findWait(ctx, deploymentId)];
  if (row === null || wait === null) return;
  if (row.state !== 'queued') return endWait(ctx, row, []);
  const decision =
    results === null ? { kind: 'pending' as const, names: wait.pending } : decideChecks(wait.names, results);
  if (decision.kind === 'passed') {
    await endWait(ctx, row, []);
    return begin(ctx, row);
  }
  if (decision.kind === 'failed') {
    const message = `The check ${decision.name} ended with “${decision.conclusion}”. Push a commit that passes it.`;
    return fail(ctx, row, { code: 'deployment.check_failed', message });
  }
  if (wait.deadlineAt <= ctx.clock.now()) {
    const message = `These checks did not finish in time: ${decision.names.join(', ')}. Redeploy to deploy without them.`;
    return fail(ctx, row, { code: 'deployment.checks_overdue', message });
  }
  const where = { deploymentId, organizationId: ctx.organizationId };
  await ctx.tx.deploymentCheckWait.updateMany({ where, data: { pending: [...decision.names] } });
  await notifyChange(ctx, { kind: 'deployment', id: row.id, appId: row.appId });
}

/** Looks again at that time: GitHub limits the rate of requests. */
export async function deferCheckWait({ tx, organizationId }: OrganizationCtx, deploymentId: string, at: Date) {
  const where = { deploymentId, organizationId, dueAt: { not: null } };
  await tx.deploymentCheckWait.updateMany({ where, data: { dueAt: at } });
}

/** Its turn has come: what is older and still waits is superseded, unless it awaits approval now. */
async function begin(ctx: Ctx, row: DeploymentRow): Promise<void> {
  const { id, appId, environmentId } = row;
  const unapproved = { deploymentId: id, organizationId: ctx.organizationId, state: { not: 'approved' } };
  if ((await ctx.tx.deploymentApproval.count({ where: unapproved })) > 0) return;
  await supersedeWaiting(ctx, { appId, environmentId, newerId: id, keeps: 'none' });
  await enqueueAdvance(ctx, id);
}

async function fail(ctx: Ctx, row: DeploymentRow, refusal: Failure): Promise<void> {
  await endWait(ctx, row, []);
  const { machine } = await loadMachine(ctx, row);
  await applyStep(ctx, row, step(machine, { kind: 'advance', blocked: false, refusal, targets: [] }, ctx.clock.now()));
  await auditDeployment(ctx, 'deployment.fail', {
    id: row.id,
    appId: row.appId,
    number: row.number,
    before: { state: row.state },
    after: { state: 'failed', failureCode: refusal.code },
  });
}

async function endWait(ctx: OrganizationCtx, { id, appId }: DeploymentRow, pending: string[]): Promise<void> {
  const where = { deploymentId: id, organizationId: ctx.organizationId };
  await ctx.tx.deploymentCheckWait.updateMany({ where, data: { dueAt: null, pending } });
  await notifyChange(ctx, { kind: 'deployment', id, appId });
}
