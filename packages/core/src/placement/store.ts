// Locks and reads placements. Treats a placement without servers as absent, because it doesn't run.
import { type AppId, type EnvironmentId, parseId, type ServerId } from '@fairlead/contract/ids';
import { activeDeploymentStates } from '../deployment/schema.ts';
import { AppError, type OrganizationCtx } from '../kernel/index.ts';
import { bumpServer } from '../server/index.ts';

export interface PlacementServer {
  readonly serverId: ServerId;
  readonly liveReleaseId: string | null;
  /** It keeps its release, and no deployment starts on it. */
  readonly isDrained: boolean;
}

export interface Placement {
  readonly id: string;
  readonly appId: AppId;
  readonly appName: string;
  readonly environmentId: EnvironmentId;
  readonly environmentName: string;
  readonly isPrimary: boolean;
  readonly branch: string;
  /** Number of copies on each server. */
  readonly instances: number;
  readonly deploysPausedAt: Date | null;
  /** The primary server first. */
  readonly servers: readonly [PlacementServer, ...PlacementServer[]];
  /** The primary server. */
  readonly serverId: ServerId;
  /** Live release of the primary server. */
  readonly liveReleaseId: string | null;
}

export interface PlacementWhere {
  readonly appId: string;
  /** Default: the primary environment. */
  readonly environmentId?: string | undefined;
}

/** Returns null if the app does not run there. */
export async function findPlacement(ctx: OrganizationCtx, where: PlacementWhere): Promise<Placement | null> {
  const { appId, environmentId } = where;
  const row = await ctx.tx.placement.findFirst({
    where: {
      appId,
      organizationId: ctx.organizationId,
      ...(environmentId === undefined ? { isPrimary: true } : { environmentId }),
    },
    select: {
      id: true,
      environmentId: true,
      isPrimary: true,
      branch: true,
      instances: true,
      deploysPausedAt: true,
      app: { select: { name: true } },
      environment: { select: { name: true } },
      servers: {
        select: { serverId: true, liveReleaseId: true, server: { select: { drainedAt: true } } },
        orderBy: { position: 'asc' },
      },
    },
  });
  if (row === null) return null;
  const { app, environment, servers, ...rest } = row;
  const [primary, ...others] = servers.map(({ serverId, liveReleaseId, server }) => ({
    serverId: parseId('srv', serverId),
    liveReleaseId,
    isDrained: server.drainedAt !== null,
  }));
  if (primary === undefined) return null;
  return {
    ...rest,
    appId: parseId('app', appId),
    appName: app.name,
    environmentId: parseId('env', row.environmentId),
    environmentName: environment.name,
    servers: [primary, ...others],
    serverId: primary.serverId,
    liveReleaseId: primary.liveReleaseId,
  };
}

/** Returns the placement with the servers that deployments reach, the first one as its primary; null if there is none. */
export function withoutDrained(placement: Placement): Placement | null {
  const [primary, ...others] = placement.servers.filter(({ isDrained }) => !isDrained);
  if (primary === undefined) return null;
  const { serverId, liveReleaseId } = primary;
  return { ...placement, serverId, liveReleaseId, servers: [primary, ...others] };
}

/** Throws app.not_found. */
export async function requirePlacement(ctx: OrganizationCtx, where: PlacementWhere): Promise<Placement> {
  const placement = await findPlacement(ctx, where);
  if (placement === null) throw new AppError('app.not_found', { appId: where.appId });
  return placement;
}

/** Waits for a drain or uninstall under way. Throws server.not_found and server.drained. */
export async function requireOpenServer(
  { tx, organizationId }: OrganizationCtx,
  { serverId }: { readonly serverId: string },
): Promise<void> {
  const [server] = await tx.$queryRaw<{ drainedAt: Date | null }[]>`
    SELECT drained_at AS "drainedAt" FROM server
    WHERE id = ${serverId} AND organization_id = ${organizationId} FOR KEY SHARE`;
  if (server === undefined) throw new AppError('server.not_found', { serverId });
  if (server.drainedAt !== null) throw new AppError('server.drained', { serverId });
}

/** Locks the apps until the transaction ends. NO KEY still allows inserts of rows that reference an app. */
export async function lockApps(ctx: OrganizationCtx, appIds: readonly string[]): Promise<void> {
  await ctx.tx.$queryRaw`
    SELECT id FROM app WHERE organization_id = ${ctx.organizationId} AND id = ANY(${[...appIds]})
    ORDER BY id FOR NO KEY UPDATE`;
}

/** Throws preview.inherited: a preview follows its pull request, with settings and secrets of another environment. */
export async function requireNoPreview(
  { tx, organizationId }: OrganizationCtx,
  { environmentId }: { readonly environmentId: string },
): Promise<void> {
  const previews = await tx.environment.count({ where: { id: environmentId, organizationId, kind: 'preview' } });
  if (previews > 0) throw new AppError('preview.inherited', { environmentId });
}

/** Throws volume_move.under_way while the volumes of the app are copied. Requires the lock of the app. */
export async function requireNoCopy(
  ctx: OrganizationCtx,
  { appId, environmentId }: { readonly appId: string; readonly environmentId: string },
): Promise<void> {
  const where = { organizationId: ctx.organizationId, appId, environmentId };
  const copies = await ctx.tx.volumeMove.count({ where: { ...where, state: { in: ['copying', 'restoring'] } } });
  if (copies > 0) throw new AppError('volume_move.under_way', { appId, environmentId });
}

/**
 * Throws placement.under_way while a deployment builds or rolls out, and volume_move.under_way while volumes are copied.
 * Requires the lock of the app.
 */
export async function requireNothingUnderWay(
  ctx: OrganizationCtx,
  { appId, environmentId }: { readonly appId: string; readonly environmentId: string },
): Promise<void> {
  const found = await ctx.tx.deployment.findFirst({
    where: { organizationId: ctx.organizationId, appId, environmentId, state: { in: [...activeDeploymentStates] } },
    select: { id: true },
  });
  if (found !== null) throw new AppError('placement.under_way', { deploymentId: found.id });
  await requireNoCopy(ctx, { appId, environmentId });
}

/**
 * Bumps the desired version of every server of a placement, always in the same order, so that two transactions never
 * deadlock.
 */
export async function bumpServersOf(
  ctx: OrganizationCtx,
  { appId, environmentId }: { readonly appId: string; readonly environmentId: string },
): Promise<void> {
  const rows = await ctx.tx.placementServer.findMany({
    where: { placement: { appId, environmentId }, organizationId: ctx.organizationId },
    select: { serverId: true },
    orderBy: { serverId: 'asc' },
  });
  for (const { serverId } of rows) await bumpServer(ctx, serverId);
}
