// Enqueues a deployment; shared by deploy, redeploy and rollback.
import type { AuditAction } from '@fairlead/contract/audit-actions';
import { type DeploymentId, newId } from '@fairlead/contract/ids';
import { touchReport } from '../github/index.ts';
import { AppError, actorUserId, type Ctx, notifyChange, type OrganizationCtx } from '../kernel/index.ts';
import { lockApps, requireNoCopy, requirePlacement, withoutDrained } from '../placement/index.ts';
import { enqueueAdvance } from './apply-step.ts';
import { findProtected } from './approval.ts';
import { auditDeployment } from './audit-deployment.ts';
import { createCheckWait, type RequiredChecks } from './check-wait.ts';
import { isFinished } from './machine.ts';
import { enqueueApprovalRequest } from './record-approval-request.ts';
import { requesterOf } from './requester.ts';
import { type DeploymentTrigger, deploymentStateSchema } from './schema.ts';
import { firstSteps, positionOf } from './steps.ts';
import { findUnfinished } from './store.ts';
import { supersedeWaiting } from './supersede-waiting.ts';

export interface DeploymentOrder {
  /** Set by the caller if a release names the deployment before it exists. */
  readonly id?: DeploymentId;
  readonly appId: string;
  readonly environmentId: string;
  readonly serverId: string;
  readonly trigger: DeploymentTrigger;
  readonly ref: string;
  /** Origin of the commit of `ref`, if that is known. */
  readonly branch?: string;
  /** Release to roll out without a build; it brings its commit. */
  readonly release: {
    readonly id: string;
    readonly commitHash: string;
    readonly commitSubject: string;
    readonly commitAuthor: string;
  } | null;
  /** Commit of `ref`, if that is known before the build. */
  readonly commit?: { readonly hash: string; readonly subject: string; readonly author: string } | undefined;
  /** Person behind the request, if that is not the actor. */
  readonly requestedByUserId?: string | null | undefined;
  /** A folder instead of the repository. */
  readonly uploadDigest?: string | undefined;
  readonly withoutCache?: boolean | undefined;
  readonly rights?: DeploymentRights;
  /** Checks of the commit at GitHub that must pass first. */
  readonly checks?: RequiredChecks | undefined;
}

export interface DeploymentRights {
  /** True: it does not wait for approval, because an approver has requested what it is part of. */
  readonly isApproved?: boolean;
}

const actions: Readonly<Record<DeploymentTrigger, AuditAction>> = {
  manual: 'deployment.create',
  api: 'deployment.create',
  system: 'deployment.create',
  push: 'deployment.create',
  pull_request: 'deployment.create',
  redeploy: 'deployment.redeploy',
  rollback: 'deployment.rollback',
  secret: 'deployment.deploy_secrets',
  restart: 'deployment.restart',
  retry: 'deployment.retry',
  promote: 'deployment.promote_release',
  upload: 'deployment.create',
};

/**
 * Supersedes older queued deployments: only the newest request counts. A running one finishes first. While the new one
 * awaits approval, an older approved one keeps its turn.
 */
export async function startDeployment(ctx: Ctx, order: DeploymentOrder): Promise<DeploymentId> {
  const { tx, organizationId } = ctx;
  const { appId, environmentId } = order;
  await lockApps(ctx, [appId]);
  // The caller read the placement without the lock; it may have ended since.
  const placement = await requirePlacement(ctx, { appId, environmentId });
  await requireNoCopy(ctx, { appId, environmentId });
  if (withoutDrained(placement) === null) throw new AppError('server.drained', { serverId: placement.serverId });
  const now = ctx.clock.now();
  const isApproved = order.rights?.isApproved ?? false;
  const waitsForApproval = !isApproved && (await findProtected(ctx, [environmentId])).length > 0;
  const { checks } = order;
  await supersedeWaiting(ctx, {
    appId,
    environmentId,
    keeps: checks !== undefined ? 'ready' : waitsForApproval ? 'approved' : 'none',
  });

  const newest = await tx.deployment.findFirst({
    where: { appId, organizationId },
    select: { number: true, queuedAt: true },
    orderBy: { number: 'desc' },
  });
  const number = (newest?.number ?? 0) + 1;
  // Lists are ordered by time: two in one millisecond, or a clock set back, must not turn the order around.
  const queuedAt = new Date(Math.max(now.getTime(), (newest?.queuedAt.getTime() ?? 0) + 1));
  const id = order.id ?? newId('dep');
  const requestedByUserId = order.requestedByUserId ?? (await requesterOf(ctx));
  await tx.deployment.create({
    data: {
      id,
      organizationId,
      appId,
      environmentId,
      number,
      trigger: order.trigger,
      state: 'queued',
      ref: order.ref,
      origin: { branch: order.branch ?? '' },
      commitHash: order.release?.commitHash ?? order.commit?.hash ?? null,
      commitSubject: order.release?.commitSubject ?? order.commit?.subject ?? null,
      commitAuthor: order.release?.commitAuthor ?? order.commit?.author ?? null,
      releaseId: order.release?.id ?? null,
      uploadDigest: order.uploadDigest ?? null,
      withoutCache: order.withoutCache ?? false,
      actorUserId: actorUserId(ctx.actor),
      requestedByUserId,
      queuedAt,
    },
  });
  await tx.deploymentStep.createMany({
    data: firstSteps(order.release === null, queuedAt).map((row) => ({
      ...row,
      id: newId('stp'),
      organizationId,
      deploymentId: id,
      position: positionOf(row.name),
    })),
  });
  if (checks !== undefined) await createCheckWait(ctx, id, checks);
  if (waitsForApproval) {
    await tx.deploymentApproval.create({
      data: {
        id: newId('apv'),
        organizationId,
        deploymentId: id,
        state: 'pending',
        requestedByUserId,
        createdAt: now,
      },
    });
    await enqueueApprovalRequest(ctx, id);
  } else {
    await enqueueAdvance(ctx, id);
  }
  await touchReport(ctx, { id, appId, environmentId });
  await notifyChange(ctx, { kind: 'deployment', id, appId });
  await auditDeployment(ctx, actions[order.trigger], {
    id,
    appId,
    number,
    after: { ref: order.ref, trigger: order.trigger, environmentId, releaseId: order.release?.id ?? null },
  });
  ctx.log.info({ deploymentId: id, appId, trigger: order.trigger, actor: ctx.actor }, 'queued a deployment');
  return id;
}

const unfinished = deploymentStateSchema.options.filter((state) => !isFinished(state));

/** Throws deployment.under_way, also for a deployment that waits. The app is locked. */
export async function requireNothingAhead(
  ctx: OrganizationCtx,
  placement: { readonly appId: string; readonly environmentId: string },
): Promise<void> {
  const [ahead] = await findUnfinished(ctx, placement, unfinished);
  if (ahead !== undefined) throw new AppError('deployment.under_way', { deploymentId: ahead.id });
}
