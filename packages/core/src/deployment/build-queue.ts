// Position of a build among those that wait for a build slot, and among those that its server has taken.
import { parseId } from '@fairlead/contract/ids';
import { Prisma } from '@fairlead/db';
import { findNewestConfig } from '../config/index.ts';
import type { OrganizationCtx } from '../kernel/index.ts';
import { type Reach, whereReached } from '../role/index.ts';
import { hasBegunBuildSql, isBuiltBeforeSql } from './build-order.ts';
import { type BuildSlots, findTakenSlots } from './build-slots.ts';
import type { BuildQueue } from './explain.ts';
import { activeDeploymentStates, type BuildAhead } from './schema.ts';
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
  const ids = row.state === 'queued' ? await aheadOfQueued(ctx, row, serverId, slots) : await aheadOfTaken(ctx, row);
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

/** Builds that the server has begun, then those that it takes up first. */
async function aheadOfTaken({ tx, organizationId }: OrganizationCtx, { id }: DeploymentRow): Promise<string[]> {
  const [taken, ahead] = [Prisma.sql`taken`, Prisma.sql`ahead`];
  const rows = await tx.$queryRaw<{ id: string }[]>`
    SELECT ahead.id FROM deployment AS taken JOIN deployment AS ahead ON ${isBuiltBeforeSql(ahead, taken)}
    WHERE taken.id = ${id} AND taken.organization_id = ${organizationId}
    ORDER BY ${hasBegunBuildSql(ahead)} DESC, ahead.id`;
  return rows.map((row) => row.id);
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
