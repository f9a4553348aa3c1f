// Returns the data of a deployment's page.
import { parseId } from '@fairlead/contract/ids';
import { judgeGate } from '../benchmark/index.ts';
import { type BenchmarkGateSettings, loadSettings } from '../config/index.ts';
import { AppError, actorUserId, type Ctx } from '../kernel/index.ts';
import { releasePlanSchema } from '../release/index.ts';
import { type Reach, wholeReach } from '../role/index.ts';
import { listMissingNames } from '../secret/index.ts';
import { defaultBuildSlots } from './build-slots.ts';
import { explainDeployment } from './explain-deployment.ts';
import { durationMs, loadDeployments } from './load-deployments.ts';
import { isFinished } from './machine.ts';
import {
  approvalStateSchema,
  type DeploymentDetail,
  type DeploymentRef,
  serverRolloutStateSchema,
  stepNameSchema,
  stepStateSchema,
} from './schema.ts';
import { findDeployment } from './store.ts';

/** `reach`: the other deployments that it may name. */
export async function getDeployment(
  ctx: Ctx,
  input: DeploymentRef,
  slots = defaultBuildSlots,
  reach: Reach = wholeReach,
): Promise<DeploymentDetail> {
  const { deploymentId } = input;
  const [summary] = await loadDeployments(ctx, { reach: wholeReach, id: deploymentId, limit: 1 });
  if (summary === undefined) throw new AppError('deployment.not_found', { deploymentId });
  const { organizationId } = ctx;
  const row = await ctx.tx.deployment.findFirstOrThrow({
    where: { id: deploymentId, organizationId },
    select: {
      cancelRequestedAt: true,
      withoutCache: true,
      startedAt: true,
      app: { select: { repositoryUrl: true } },
      config: { select: { number: true } },
      release: { select: { plan: true, configId: true, secretSnapshotId: true } },
    },
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
  const { appId, environmentId } = summary;
  const primary = await ctx.tx.placementServer.findFirst({
    where: { organizationId, placement: { appId, environmentId } },
    select: { server: { select: { id: true, name: true } }, liveReleaseId: true },
    orderBy: { position: 'asc' },
  });
  const machine = await findDeployment(ctx, deploymentId);
  const finished = isFinished(summary.state);
  const approval = await findApproval(ctx, deploymentId);
  return {
    ...summary,
    repositoryUrl: row.app.repositoryUrl,
    serverId: primary === null ? null : parseId('srv', primary.server.id),
    serverName: primary?.server.name ?? null,
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
    canRetry: summary.state === 'failed' || summary.state === 'cancelled',
    waiting: machine === null ? null : await explainDeployment(ctx, machine, slots, reach),
    servers: await loadServers(
      ctx,
      deploymentId,
      (await loadSettings(ctx, row.release?.configId ?? null)).benchmarkGate,
    ),
    configNumber: row.startedAt === null ? null : (row.config?.number ?? 0),
    withoutCache: row.withoutCache,
    plan: releasePlanSchema.parse(row.release?.plan ?? {}).sentences,
    missingNames: row.release === null ? [] : await listMissingNames(ctx, row.release),
    // A release that failed or was cancelled in its rollout never served, so it is no rollback target.
    canRollBackTo:
      summary.state === 'live' &&
      summary.releaseId !== null &&
      primary !== null &&
      primary.liveReleaseId !== summary.releaseId,
    logLineCount: lastChunk === null ? 0 : lastChunk.firstLine + lastChunk.lineCount,
    approval:
      approval?.state === 'pending' && summary.state !== 'queued' ? { ...approval, state: 'withdrawn' } : approval,
  };
}

async function loadServers(
  ctx: Ctx,
  deploymentId: string,
  gate: BenchmarkGateSettings | null,
): Promise<DeploymentDetail['servers']> {
  const { organizationId } = ctx;
  const rows = await ctx.tx.deploymentServer.findMany({
    where: { deploymentId, organizationId },
    orderBy: { position: 'asc' },
  });
  const servers = await ctx.tx.server.findMany({
    where: { organizationId, id: { in: rows.map(({ serverId }) => serverId) } },
    select: { id: true, name: true },
  });
  const names = new Map(servers.map(({ id, name }) => [id, name]));
  return rows.map((each) => ({
    serverId: parseId('srv', each.serverId),
    serverName: names.get(each.serverId) ?? null,
    state: serverRolloutStateSchema.parse(each.state),
    failureMessage: each.failureMessage,
    gate: gate === null || each.gateRows === null ? null : judgeGate(gate, each.gateRows, each.state !== 'rolling_out'),
    startedAt: each.startedAt,
    finishedAt: each.finishedAt,
  }));
}

async function findApproval(ctx: Ctx, deploymentId: string): Promise<DeploymentDetail['approval']> {
  const row = await ctx.tx.deploymentApproval.findFirst({
    where: { deploymentId, organizationId: ctx.organizationId },
    select: {
      state: true,
      requestedByUserId: true,
      decidedByUserId: true,
      decidedAt: true,
      deployment: { select: { actorUserId: true } },
    },
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
    isOwn: reader !== null && [row.requestedByUserId, row.deployment.actorUserId].includes(reader),
  };
}
