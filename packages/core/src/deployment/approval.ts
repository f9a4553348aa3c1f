// Approval of a deployment to a protected environment by a second member.
// Invariant: the requester, or the maker of the requesting token, never approves. A check of the table enforces the
// same. A member who retries the push of another person doesn't approve it either.

import { newId } from '@fairlead/contract/ids';
import { AppError, type Ctx, notifyChange, type OrganizationCtx } from '../kernel/index.ts';
import { lockApps } from '../placement/index.ts';
import { applyStep, enqueueAdvance } from './apply-step.ts';
import { auditDeployment } from './audit-deployment.ts';
import { awaitsChecks } from './check-wait.ts';
import { step } from './machine.ts';
import { enqueueApprovalRequest } from './record-approval-request.ts';
import type { DeploymentRef } from './schema.ts';
import { findDeployment, loadMachine } from './store.ts';
import { supersedeWaiting } from './supersede-waiting.ts';

/**
 * Approves a waiting deployment, which supersedes older approved ones that still wait. Throws approval.not_pending and
 * approval.own.
 */
export async function approveDeployment(ctx: Ctx, input: DeploymentRef): Promise<DeploymentRef> {
  const { deploymentId } = input;
  const { row } = await decide(ctx, input, 'approved');
  const { appId, environmentId } = row;
  if (!(await awaitsChecks(ctx, deploymentId)))
    await supersedeWaiting(ctx, { appId, environmentId, newerId: row.id, keeps: 'none' });
  await enqueueAdvance(ctx, deploymentId);
  await notifyChange(ctx, { kind: 'deployment', id: row.id, appId: row.appId });
  return { deploymentId };
}

/** Cancels a waiting deployment. Throws approval.not_pending and approval.own. */
export async function refuseDeployment(ctx: Ctx, input: DeploymentRef): Promise<DeploymentRef> {
  const { row } = await decide(ctx, input, 'refused');
  const { machine } = await loadMachine(ctx, row);
  await applyStep(ctx, row, step(machine, { kind: 'cancel' }, ctx.clock.now()));
  return { deploymentId: input.deploymentId };
}

/** True if the deployment awaits approval. */
export async function awaitsApproval(ctx: OrganizationCtx, deploymentId: string): Promise<boolean> {
  const where = { deploymentId, organizationId: ctx.organizationId, state: { not: 'approved' } };
  return (await ctx.tx.deploymentApproval.count({ where })) > 0;
}

/**
 * Throws approval.in_review while a deployment that awaits approval is not built yet. Its source and start command
 * must stay what they were at the request. Locks the app until the transaction ends.
 */
export async function requireNothingInReview(ctx: OrganizationCtx, input: { readonly appId: string }): Promise<void> {
  await lockApps(ctx, [input.appId]);
  const inReview = await ctx.tx.deployment.findFirst({
    where: {
      organizationId: ctx.organizationId,
      appId: input.appId,
      state: { in: ['queued', 'building'] },
      approval: { isNot: null },
    },
    select: { id: true },
  });
  if (inReview !== null) throw new AppError('approval.in_review', { deploymentId: inReview.id });
}

export interface ProtectedEnvironment {
  readonly id: string;
  readonly projectId: string;
}

/**
 * Returns which of the environments are protected. Shares the lock of changes to the protection, so that a change counts for
 * everything that has not committed yet.
 */
export async function findProtected(
  ctx: OrganizationCtx,
  environmentIds: readonly string[],
): Promise<ProtectedEnvironment[]> {
  const rows = await ctx.tx.$queryRaw<(ProtectedEnvironment & { protected: boolean })[]>`
    SELECT id, project_id AS "projectId", protected FROM environment
    WHERE organization_id = ${ctx.organizationId} AND id = ANY(${[...environmentIds]}::text[]) ORDER BY id FOR SHARE`;
  return rows.filter((row) => row.protected);
}

/** For what waits in the queue of an environment that is protected from now on. */
export async function requestApprovals(ctx: Ctx, input: { readonly environmentId: string }): Promise<void> {
  const { organizationId } = ctx;
  const waiting = await ctx.tx.deployment.findMany({
    where: { organizationId, environmentId: input.environmentId, state: 'queued', approval: null },
    select: { id: true, appId: true, requestedByUserId: true },
  });
  await ctx.tx.deploymentApproval.createMany({
    data: waiting.map(({ id, requestedByUserId }) => ({
      id: newId('apv'),
      organizationId,
      deploymentId: id,
      state: 'pending',
      requestedByUserId,
      createdAt: ctx.clock.now(),
    })),
  });
  for (const { id, appId } of waiting) {
    await enqueueApprovalRequest(ctx, id);
    await notifyChange(ctx, { kind: 'deployment', id, appId });
  }
}

async function decide(ctx: Ctx, { deploymentId }: DeploymentRef, state: 'approved' | 'refused') {
  const { actor, organizationId } = ctx;
  const seen = await findDeployment(ctx, deploymentId);
  if (seen === null) throw new AppError('deployment.not_found', { deploymentId });
  // The requester can make a token, and a service account is no person: only a member may approve.
  if (actor.kind !== 'member') throw new AppError('permission.denied', { permission: 'deployment.approve' });
  await lockApps(ctx, [seen.appId]);
  const row = await findDeployment(ctx, deploymentId);
  const approval = await ctx.tx.deploymentApproval.findFirst({
    where: { deploymentId, organizationId },
    include: { deployment: { select: { actorUserId: true } } },
  });
  if (row?.state !== 'queued' || approval?.state !== 'pending') {
    throw new AppError('approval.not_pending', { deploymentId });
  }
  if ([approval.requestedByUserId, approval.deployment.actorUserId].includes(actor.userId))
    throw new AppError('approval.own', { deploymentId });
  await ctx.tx.deploymentApproval.updateMany({
    where: { id: approval.id, organizationId },
    data: { state, decidedByUserId: actor.userId, decidedAt: ctx.clock.now() },
  });
  await auditDeployment(ctx, state === 'approved' ? 'deployment.approve' : 'deployment.refuse', {
    id: deploymentId,
    appId: row.appId,
    number: row.number,
    before: { approval: 'pending' },
    after: { approval: state, environmentId: row.environmentId },
  });
  return { row };
}
