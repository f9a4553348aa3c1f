// Owns what the page of one deployment shows.
import { parseId } from '@fairlead/contract/ids';
import { AppError, actorUserId, type Ctx } from '../kernel/index.ts';
import { wholeReach } from '../role/index.ts';
import { isFinished } from './machine.ts';
import {
  approvalStateSchema,
  type DeploymentDetail,
  type DeploymentRef,
  stepNameSchema,
  stepStateSchema,
} from './schema.ts';
import { durationMs, loadDeployments } from './views.ts';

export async function getDeployment(ctx: Ctx, input: DeploymentRef): Promise<DeploymentDetail> {
  const { deploymentId } = input;
  const [summary] = await loadDeployments(ctx, { reach: wholeReach, id: deploymentId, limit: 1 });
  if (summary === undefined) throw new AppError('deployment.not_found', { deploymentId });
  const { organizationId } = ctx;
  const row = await ctx.tx.deployment.findFirstOrThrow({
    where: { id: deploymentId, organizationId },
    select: { cancelRequestedAt: true, app: { select: { repositoryUrl: true, projectId: true } } },
  });
  const steps = await ctx.tx.deploymentStep.findMany({
    where: { deploymentId, organizationId },
    orderBy: { position: 'asc' },
  });
  const lastChunk = await ctx.tx.logChunk.findFirst({
    where: { deploymentId, organizationId },
    select: { firstLine: true, lineCount: true },
    orderBy: { firstLine: 'desc' },
  });
  const placement = await ctx.tx.placement.findFirst({
    where: { organizationId, appId: summary.appId, environmentId: summary.environmentId },
    select: { server: { select: { id: true, name: true } }, liveReleaseId: true },
  });
  const finished = isFinished(summary.state);
  const approval = await findApproval(ctx, deploymentId);
  return {
    ...summary,
    repositoryUrl: row.app.repositoryUrl,
    projectId: parseId('prj', row.app.projectId),
    serverId: placement === null ? null : parseId('srv', placement.server.id),
    serverName: placement?.server.name ?? null,
    steps: steps.map((each) => ({
      name: stepNameSchema.parse(each.name),
      position: each.position,
      state: stepStateSchema.parse(each.state),
      startedAt: each.startedAt,
      finishedAt: each.finishedAt,
      durationMs: durationMs(each.startedAt, each.finishedAt),
    })),
    cancelRequestedAt: row.cancelRequestedAt,
    canCancel: !finished,
    canRedeploy: finished,
    // A release whose roll-out failed or was cancelled never served: it is no place to go back to.
    canRollBackTo:
      summary.state === 'live' &&
      summary.releaseId !== null &&
      placement !== null &&
      placement.liveReleaseId !== summary.releaseId,
    logLineCount: lastChunk === null ? 0 : lastChunk.firstLine + lastChunk.lineCount,
    approval:
      approval?.state === 'pending' && summary.state !== 'queued' ? { ...approval, state: 'withdrawn' } : approval,
  };
}

async function findApproval(ctx: Ctx, deploymentId: string): Promise<DeploymentDetail['approval']> {
  const row = await ctx.tx.deploymentApproval.findFirst({
    where: { deploymentId, organizationId: ctx.organizationId },
    select: { state: true, requestedByUserId: true, decidedByUserId: true, decidedAt: true },
  });
  if (row === null) return null;
  const decidedBy =
    row.decidedByUserId === null
      ? null
      : await ctx.tx.user.findFirst({ where: { id: row.decidedByUserId }, select: { name: true } });
  const reader = actorUserId(ctx.actor);
  return {
    state: approvalStateSchema.parse(row.state),
    decidedByName: decidedBy?.name ?? null,
    decidedAt: row.decidedAt,
    isOwn: reader !== null && row.requestedByUserId === reader,
  };
}
