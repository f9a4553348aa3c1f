// Position of a build among those that wait for a build slot. A server builds one app at a time, so a build also waits after a
// server has taken it.

import { parseId } from '@fairlead/contract/ids';
import { findNewestConfig } from '../config/index.ts';
import type { OrganizationCtx } from '../kernel/index.ts';
import { type Reach, whereReached } from '../role/index.ts';
import { type BuildSlots, findTakenSlots } from './build-slots.ts';
import type { BuildQueue } from './explain.ts';
import { activeDeploymentStates, type BuildAhead } from './schema.ts';
import { hasBegunBuild } from './steps.ts';
import type { DeploymentRow } from './store.ts';

/** Maximum number of waiting builds that are counted ahead; their settings are read one by one. */
const waitingMax = 20;

export interface BuildQueueInput {
  readonly row: DeploymentRow;
  readonly serverId: string;
  readonly slots: BuildSlots;
  /** The deployments that may be named. */
  readonly reach: Reach;
}

/** Null: it does not wait for other builds. */
export async function findBuildQueue(ctx: OrganizationCtx, input: BuildQueueInput): Promise<BuildQueue | null> {
  const { row, serverId, slots, reach } = input;
  if (row.releaseId !== null) return null;
  const ids =
    row.state === 'queued' ? await aheadOfQueued(ctx, row, serverId, slots) : await aheadOfTaken(ctx, row, serverId);
  if (ids.length === 0) return null;
  return { aheadCount: ids.length, ahead: await nameBuilds(ctx, ids, reach) };
}

/** Builds that use the slots, then those that wait longer. */
async function aheadOfQueued(
  ctx: OrganizationCtx,
  row: DeploymentRow,
  serverId: string,
  slots: BuildSlots,
): Promise<string[]> {
  const taken = await findTakenSlots(ctx, { serverId, except: row.id }, slots);
  if (taken === null) return [];
  const { organizationId } = ctx;
  const running = await ctx.tx.deployment.findMany({
    where: {
      organizationId,
      state: 'building',
      ...(taken.of === 'server' ? { buildServerId: serverId } : {}),
      NOT: { id: row.id },
    },
    select: { id: true },
    orderBy: [{ startedAt: 'asc' }, { queuedAt: 'asc' }, { id: 'asc' }],
  });
  const waiting = await ctx.tx.deployment.findMany({
    where: {
      organizationId,
      state: 'queued',
      releaseId: null,
      AND: [
        { OR: [{ queuedAt: { lt: row.queuedAt } }, { queuedAt: row.queuedAt, id: { lt: row.id } }] },
        { OR: [{ approval: null }, { approval: { state: 'approved' } }] },
      ],
      NOT: { checkWait: { dueAt: { not: null } } },
    },
    select: { id: true, appId: true, environmentId: true },
    orderBy: [{ queuedAt: 'asc' }, { id: 'asc' }],
    take: waitingMax,
  });
  const ahead = running.map(({ id }) => id);
  for (const each of waiting) {
    if (await isBehindItsOwn(ctx, each)) continue;
    if (taken.of === 'organization' || (await buildServerOf(ctx, each)) === serverId) ahead.push(each.id);
  }
  return ahead;
}

/** Builds that the server has begun, then those that it takes up first: it goes by their ids. */
async function aheadOfTaken(ctx: OrganizationCtx, row: DeploymentRow, serverId: string): Promise<string[]> {
  if (row.state !== 'building' || hasBegunBuild(row.steps)) return [];
  const others = await ctx.tx.deployment.findMany({
    where: {
      organizationId: ctx.organizationId,
      state: 'building',
      buildServerId: serverId,
      NOT: { id: row.id },
    },
    select: { id: true, steps: { select: { name: true, startedAt: true } } },
    orderBy: { id: 'asc' },
  });
  const begun = others.filter(({ steps }) => hasBegunBuild(steps));
  const next = others.filter((each) => !begun.includes(each) && each.id < row.id);
  return [...begun, ...next].map(({ id }) => id);
}

/** It waits for a deployment of its own app first, so it takes no slot before that one is over. */
async function isBehindItsOwn(
  { tx, organizationId }: OrganizationCtx,
  { appId, environmentId }: Pick<DeploymentRow, 'appId' | 'environmentId'>,
): Promise<boolean> {
  const where = { organizationId, appId, environmentId, state: { in: [...activeDeploymentStates] } };
  return (await tx.deployment.count({ where })) > 0;
}

async function buildServerOf(
  ctx: OrganizationCtx,
  place: Pick<DeploymentRow, 'appId' | 'environmentId'>,
): Promise<string | null> {
  const { settings } = await findNewestConfig(ctx, place);
  if (settings.buildServerId !== null) return settings.buildServerId;
  const primary = await ctx.tx.placementServer.findFirst({
    where: {
      organizationId: ctx.organizationId,
      placement: { appId: place.appId, environmentId: place.environmentId },
    },
    select: { serverId: true },
    orderBy: { position: 'asc' },
  });
  return primary?.serverId ?? null;
}

async function nameBuilds(ctx: OrganizationCtx, ids: readonly string[], reach: Reach): Promise<BuildAhead[]> {
  const { tx, organizationId } = ctx;
  const rows = await tx.deployment.findMany({
    where: { organizationId, id: { in: [...ids] }, environment: whereReached(reach) },
    select: { id: true, number: true, app: { select: { name: true } } },
  });
  return ids.flatMap((id) => {
    const row = rows.find((each) => each.id === id);
    return row === undefined
      ? []
      : [{ deploymentId: parseId('dep', row.id), appName: row.app.name, number: row.number }];
  });
}
