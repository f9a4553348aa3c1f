// Loads the facts that explain.ts needs to say why a deployment is not live yet.

import { findNewestConfig, loadSettings } from '../config/index.ts';
import { missingCapability } from '../desired-state/index.ts';
import type { OrganizationCtx } from '../kernel/index.ts';
import { type Reach, wholeReach } from '../role/index.ts';
import { isConnected } from '../server/index.ts';
import { awaitsApproval } from './approval.ts';
import { findBuildQueue } from './build-queue.ts';
import { defaultBuildSlots } from './build-slots.ts';
import { listPendingChecks } from './check-wait.ts';
import { explain } from './explain.ts';
import { isFinished } from './machine.ts';
import type { Wait } from './schema.ts';
import { activeDeploymentStates } from './schema.ts';
import { type DeploymentRow, findDeployment, findUnfinished } from './store.ts';

/** Null when it is over. `reach`: the deployments that the sentence may name. */
export async function explainDeployment(
  ctx: OrganizationCtx,
  row: DeploymentRow,
  slots = defaultBuildSlots,
  reach: Reach = wholeReach,
): Promise<Wait | null> {
  if (isFinished(row.state)) return null;
  const { tx, organizationId } = ctx;
  const { appId, environmentId } = row;
  const now = ctx.clock.now();
  const placement = await tx.placement.findFirst({
    where: { appId, environmentId, organizationId },
    select: { instances: true, servers: { select: { server: true }, orderBy: { position: 'asc' } } },
  });
  const placed = placement?.servers.map(({ server }) => server) ?? [];
  const rolls = await tx.deploymentServer.findMany({
    where: { deploymentId: row.id, organizationId },
    orderBy: { position: 'asc' },
  });
  const queued = row.state === 'queued';
  const settings = queued ? (await findNewestConfig(ctx, row)).settings : await loadSettings(ctx, row.configId);
  const builderId = row.buildServerId ?? settings.buildServerId ?? placed[0]?.id ?? null;
  const builder = builderId === null ? null : await tx.server.findFirst({ where: { id: builderId, organizationId } });
  const servers = new Map([...placed, ...(builder ? [builder] : [])].map((server) => [server.id, server]));
  const nameOf = (id: string): string => servers.get(id)?.name ?? 'a server';
  const inState = (state: string): string[] =>
    rolls.filter((each) => each.state === state).map((each) => each.serverId);
  const needsBuild = row.releaseId === null;
  const needed =
    row.state === 'building' || (queued && needsBuild)
      ? [builderId]
      : queued
        ? placed.map(({ id }) => id)
        : [...inState('rolling_out'), ...inState('reverting')];
  const [ahead] = queued
    ? (await findUnfinished(ctx, { appId, environmentId }, activeDeploymentStates)).filter(({ id }) => id !== row.id)
    : [];
  const rollingOut = inState('rolling_out');
  return explain({
    state: row.state,
    approvalPending: queued && (await awaitsApproval(ctx, row.id)),
    pendingChecks: queued ? await listPendingChecks(ctx, row.id) : [],
    behindNumber: ahead?.number ?? null,
    queue: builderId === null ? null : await findBuildQueue(ctx, { row, serverId: builderId, slots, reach }),
    offline: needed.flatMap((id) => {
      const server = id === null ? undefined : servers.get(id);
      return server === undefined || isConnected(server, now) ? [] : [server.name];
    }),
    lacking: placed.flatMap(({ name, capabilities }) => {
      const capability = missingCapability(settings, capabilities);
      return capability === null ? [] : [{ serverName: name, capability }];
    }),
    step: row.steps.find((each) => each.state === 'running' && each.name !== 'queue')?.name ?? null,
    buildServerName: builder?.name ?? null,
    instances:
      row.releaseId === null
        ? null
        : {
            healthy: await countHealthy(ctx, row.releaseId, rollingOut),
            wanted: (placement?.instances ?? 0) * placed.filter(({ id }) => rollingOut.includes(id)).length,
          },
    rollingOut: rollingOut.map(nameOf),
    live: inState('live').map(nameOf),
    goingBack: inState('reverting').map(nameOf),
  });
}

/**
 * Explains why an app is not there: its volumes are copied to another server, or its newest deployment is not live yet. Null if
 * that has ended, or there is none.
 */
export async function explainApp(
  ctx: OrganizationCtx,
  placement: { readonly appId: string; readonly environmentId: string },
  slots = defaultBuildSlots,
  reach: Reach = wholeReach,
): Promise<Wait | null> {
  const { appId, environmentId } = placement;
  const moving = await explainMove(ctx, placement);
  if (moving !== null) return moving;
  const newest = await ctx.tx.deployment.findFirst({
    where: { appId, environmentId, organizationId: ctx.organizationId },
    select: { id: true },
    orderBy: { number: 'desc' },
  });
  const row = newest === null ? null : await findDeployment(ctx, newest.id);
  return row === null ? null : explainDeployment(ctx, row, slots, reach);
}

async function explainMove(
  { tx, organizationId }: OrganizationCtx,
  { appId, environmentId }: { readonly appId: string; readonly environmentId: string },
): Promise<Wait | null> {
  const move = await tx.volumeMove.findFirst({
    where: { organizationId, appId, environmentId, state: { in: ['copying', 'restoring'] } },
    select: { sourceServerId: true, targetServerId: true },
  });
  if (move === null) return null;
  const ids = [move.sourceServerId, move.targetServerId];
  const servers = await tx.server.findMany({
    where: { organizationId, id: { in: ids } },
    select: { id: true, name: true },
  });
  const [source, target] = ids.map((id) => servers.find((server) => server.id === id)?.name ?? 'a removed server');
  return {
    reason: 'moving',
    queue: null,
    sentence: `It is down while its volumes are copied from ${source} to ${target}. The page of ${source} shows the progress.`,
  };
}

async function countHealthy(ctx: OrganizationCtx, releaseId: string, serverIds: readonly string[]): Promise<number> {
  return ctx.tx.instance.count({
    where: {
      organizationId: ctx.organizationId,
      releaseId,
      serverId: { in: [...serverIds] },
      process: 'web',
      state: 'healthy',
    },
  });
}
