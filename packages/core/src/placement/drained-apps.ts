// Apps of a server with the reason why each can't leave it.
import { type AppId, type EnvironmentId, parseId } from '@fairlead/contract/ids';
import { activeDeploymentStates } from '../deployment/schema.ts';
import type { OrganizationCtx } from '../kernel/index.ts';
import { isConnected } from '../server/index.ts';
import type { ServerDrainInput, StayReason } from './schema.ts';
import { lockApps } from './store.ts';

export interface DrainedApp {
  readonly appId: AppId;
  readonly slug: string;
  readonly name: string;
  readonly environmentId: EnvironmentId;
  readonly environmentName: string;
  readonly hosts: string[];
  readonly hasVolumes: boolean;
  /** Null: it can leave. */
  readonly stays: StayReason | null;
}

export interface StayFacts {
  readonly hasVolumes: boolean;
  readonly isUnderWay: boolean;
  /** Other servers of the app in the environment. */
  readonly others: readonly { readonly isLive: boolean; readonly isConnected: boolean; readonly isDrained: boolean }[];
}

/** An app leaves only if another server can take its requests, and if it leaves no data behind unless that was asked for. */
export function stayReason({ hasVolumes, isUnderWay, others }: StayFacts): StayReason | null {
  if (hasVolumes) return 'volumes';
  const open = others.filter(({ isDrained }) => !isDrained);
  if (open.length === 0) return 'only_here';
  if (isUnderWay) return 'under_way';
  const live = open.filter(({ isLive }) => isLive);
  if (live.length === 0) return 'not_live_elsewhere';
  return live.some((server) => server.isConnected) ? null : 'offline_elsewhere';
}

/** Throws unless the caller has their rights in every environment that the change reaches. */
export type VerifyRights = () => Promise<void>;

/**
 * Locks the apps of a server, then the server, so that no app joins it until the transaction ends. Rights that were checked
 * before may miss an app that came meanwhile, so they are verified again. Returns the apps that are locked.
 */
export async function lockDrainedApps(
  ctx: OrganizationCtx,
  input: ServerDrainInput,
  verifyRights: VerifyRights,
): Promise<DrainedApp[]> {
  const { tx, organizationId } = ctx;
  const { serverId } = input;
  // Reports and deployments lock apps before servers too.
  const locked = new Set((await loadDrainedApps(ctx, input)).map(({ appId }) => appId));
  await lockApps(ctx, [...locked]);
  // A row that references the server takes a key share, which waits for this lock.
  await tx.$queryRaw`SELECT 1 FROM server WHERE organization_id = ${organizationId} AND id = ${serverId} FOR UPDATE`;
  await verifyRights();
  return (await loadDrainedApps(ctx, input)).filter(({ appId }) => locked.has(appId));
}

export async function loadDrainedApps(
  ctx: OrganizationCtx,
  { serverId, leaveVolumes = false }: ServerDrainInput,
): Promise<DrainedApp[]> {
  const { tx, organizationId } = ctx;
  const now = ctx.clock.now();
  const rows = await tx.placement.findMany({
    where: { organizationId, servers: { some: { serverId } } },
    orderBy: [{ app: { name: 'asc' } }, { id: 'asc' }],
    select: {
      appId: true,
      environmentId: true,
      app: { select: { name: true, slug: true } },
      environment: { select: { name: true } },
      domains: { select: { host: true }, orderBy: { host: 'asc' } },
      servers: {
        where: { NOT: { serverId } },
        select: {
          liveReleaseId: true,
          server: { select: { drainedAt: true, connectedGateway: true, lastSeenAt: true } },
        },
      },
    },
  });
  const places = rows.map(({ appId, environmentId }) => ({ organizationId, appId, environmentId }));
  const select = { appId: true, environmentId: true };
  const keyOf = (row: { readonly appId: string; readonly environmentId: string }) =>
    `${row.appId} ${row.environmentId}`;
  const volumes = await tx.volume.findMany({ where: { releasedAt: null, OR: places }, select });
  const active = await tx.deployment.findMany({
    where: { state: { in: [...activeDeploymentStates] }, OR: places },
    select,
  });
  const [withVolumes, underWay] = [new Set(volumes.map(keyOf)), new Set(active.map(keyOf))];
  return rows.map((row) => ({
    appId: parseId('app', row.appId),
    slug: row.app.slug,
    name: row.app.name,
    environmentId: parseId('env', row.environmentId),
    environmentName: row.environment.name,
    hosts: [...new Set(row.domains.map(({ host }) => host))],
    hasVolumes: withVolumes.has(keyOf(row)),
    stays: stayReason({
      hasVolumes: withVolumes.has(keyOf(row)) && !leaveVolumes,
      isUnderWay: underWay.has(keyOf(row)),
      others: row.servers.map(({ liveReleaseId, server }) => ({
        isLive: liveReleaseId !== null,
        isConnected: isConnected(server, now),
        isDrained: server.drainedAt !== null,
      })),
    }),
  }));
}
