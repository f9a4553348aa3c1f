// Owns putting a deployment into the queue: deploy, redeploy and rollback differ only in what they ask for.
import { type DeploymentId, newId } from '@fairlead/contract/ids';
import { AppError, actorUserId, type Ctx, notifyChange } from '../kernel/index.ts';
import { applyStep, enqueueAdvance } from './apply-step.ts';
import { auditDeployment } from './audit.ts';
import { step } from './machine.ts';
import { requesterOf } from './requester.ts';
import type { DeploymentTrigger } from './schema.ts';
import { firstSteps } from './steps.ts';
import { findUnfinished, lockApps, machineOf } from './store.ts';

export interface DeploymentOrder {
  readonly appId: string;
  readonly environmentId: string;
  readonly serverId: string;
  readonly trigger: DeploymentTrigger;
  readonly ref: string;
  /** Rolled out without a build; it brings its commit along. */
  readonly release: {
    readonly id: string;
    readonly commitHash: string;
    readonly commitSubject: string;
    readonly commitAuthor: string;
  } | null;
}

const actions: Readonly<Record<DeploymentTrigger, string>> = {
  manual: 'deployment.create',
  push: 'deployment.create',
  redeploy: 'deployment.redeploy',
  rollback: 'deployment.rollback',
  secret: 'deployment.deploy_secrets',
  restart: 'deployment.restart',
};

/** Older ones that still wait are superseded: only the newest wish counts. One that is under way finishes first. */
export async function startDeployment(ctx: Ctx, order: DeploymentOrder): Promise<DeploymentId> {
  const { tx, organizationId } = ctx;
  const { appId, environmentId, serverId } = order;
  await lockApps(ctx, [appId]);
  const now = ctx.clock.now();
  for (const row of await findUnfinished(ctx, { appId, environmentId }, ['queued'])) {
    await applyStep(ctx, row, step(machineOf(row), { kind: 'supersede' }, now), { serverId });
  }

  const newest = await tx.deployment.findFirst({
    where: { appId, organizationId },
    select: { number: true, queuedAt: true },
    orderBy: { number: 'desc' },
  });
  const number = (newest?.number ?? 0) + 1;
  // Lists are ordered by time: two in one millisecond, or a clock set back, must not turn the order around.
  const queuedAt = new Date(Math.max(now.getTime(), (newest?.queuedAt.getTime() ?? 0) + 1));
  const id = newId('dep');
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
      commitHash: order.release?.commitHash ?? null,
      commitSubject: order.release?.commitSubject ?? null,
      commitAuthor: order.release?.commitAuthor ?? null,
      releaseId: order.release?.id ?? null,
      actorUserId: actorUserId(ctx.actor),
      queuedAt,
    },
  });
  await tx.deploymentStep.createMany({
    data: firstSteps(order.release === null, now).map((row, position) => ({
      ...row,
      id: newId('stp'),
      organizationId,
      deploymentId: id,
      position,
    })),
  });
  if (await isProtected(ctx, environmentId)) {
    await tx.deploymentApproval.create({
      data: {
        id: newId('apv'),
        organizationId,
        deploymentId: id,
        state: 'pending',
        requestedByUserId: await requesterOf(ctx),
        createdAt: now,
      },
    });
  } else {
    await enqueueAdvance(ctx, id);
  }
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

/** Shares the lock of whoever changes the protection, so that it counts for everything that is not queued yet. */
async function isProtected(ctx: Ctx, environmentId: string): Promise<boolean> {
  const [row] = await ctx.tx.$queryRaw<{ protected: boolean }[]>`
    SELECT protected FROM environment
    WHERE id = ${environmentId} AND organization_id = ${ctx.organizationId} FOR SHARE`;
  return row?.protected ?? true;
}

/** Where an app lives. There is one environment in this version, so the oldest placement is the one. */
export async function requirePlacement(ctx: Ctx, appId: string) {
  const placement = await ctx.tx.placement.findFirst({
    where: { appId, organizationId: ctx.organizationId },
    select: { environmentId: true, serverId: true, branch: true, liveReleaseId: true },
    orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
  });
  if (placement === null) throw new AppError('app.not_found', { appId });
  return placement;
}
