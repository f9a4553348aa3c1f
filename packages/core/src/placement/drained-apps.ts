// Apps of a server with the reason why each can't leave it.
import { type AppId, type EnvironmentId, parseId, type VolumeMoveId } from '@fairlead/contract/ids';
import { activeDeploymentStates } from '../deployment/schema.ts';
import type { OrganizationCtx } from '../kernel/index.ts';
import { isConnected } from '../server/index.ts';
import type { ServerDrainInput, StayReason } from './schema.ts';
import { lockApps } from './store.ts';

export interface DrainedVolume {
  readonly name: string;
  /** Last report of the server; null: none yet. */
  readonly usedBytes: number | null;
  /** Time of the newest snapshot of the server's volume. */
  readonly snapshotAt: Date | null;
}

export interface DrainedApp {
  readonly appId: AppId;
  readonly slug: string;
  readonly name: string;
  readonly environmentId: EnvironmentId;
  readonly environmentName: string;
  readonly hosts: string[];
  readonly hasVolumes: boolean;
  /** Volumes that a move would copy from the server. */
  readonly volumes: DrainedVolume[];
  /** The move that takes the app from the server with its volumes. */
  readonly move: VolumeMoveId | null;
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
 * before may miss an app that joined since, so they are verified again. Returns the apps that are locked.
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
  const volumes = await loadVolumes(ctx, serverId);
  const moves = await tx.volumeMove.findMany({
    where: { organizationId, sourceServerId: serverId, state: { in: ['copying', 'restoring', 'deploying'] } },
    select: { ...select, id: true },
  });
  const active = await tx.deployment.findMany({
    where: { state: { in: [...activeDeploymentStates] }, OR: places },
    select,
  });
  const underWay = new Set(active.map(keyOf));
  const volumesOf = Map.groupBy(volumes, keyOf);
  const moveOf = new Map(moves.map((move) => [keyOf(move), parseId('vmv', move.id)]));
  return rows.map((row) => ({
    appId: parseId('app', row.appId),
    slug: row.app.slug,
    name: row.app.name,
    environmentId: parseId('env', row.environmentId),
    environmentName: row.environment.name,
    hosts: [...new Set(row.domains.map(({ host }) => host))],
    hasVolumes: volumesOf.has(keyOf(row)),
    volumes: (volumesOf.get(keyOf(row)) ?? []).map(({ name, usedBytes, snapshotAt }) => ({
      name,
      usedBytes: usedBytes === null ? null : Number(usedBytes),
      snapshotAt,
    })),
    move: moveOf.get(keyOf(row)) ?? null,
    stays: stayReason({
      hasVolumes: volumesOf.has(keyOf(row)) && !leaveVolumes,
      isUnderWay: underWay.has(keyOf(row)),
      others: row.servers.map(({ liveReleaseId, server }) => ({
        isLive: liveReleaseId !== null,
        isConnected: isConnected(server, now),
        isDrained: server.drainedAt !== null,
      })),
    }),
  }));
}

/**
 * Returns the volumes of each app on the server: those that it or no server reported, and those of the live release, because a new
 * one is reported only minutes later.
 */
function loadVolumes({ tx, organizationId }: OrganizationCtx, serverId: string) {
  return tx.$queryRaw<
    { appId: string; environmentId: string; name: string; usedBytes: bigint | null; snapshotAt: Date | null }[]
  >`
    WITH placed AS (
      SELECT placement.app_id, placement.environment_id, placement_server.live_release_id
      FROM placement_server JOIN placement ON placement.id = placement_server.placement_id
      WHERE placement_server.organization_id = ${organizationId} AND placement_server.server_id = ${serverId}
    ), named AS (
      SELECT placed.app_id, placed.environment_id, volume.name
      FROM placed JOIN volume ON volume.app_id = placed.app_id AND volume.environment_id = placed.environment_id
      WHERE volume.organization_id = ${organizationId} AND volume.released_at IS NULL
        AND (jsonb_exists(volume.used_bytes, ${serverId}) OR volume.used_bytes = '{}'::jsonb)
      UNION
      SELECT placed.app_id, placed.environment_id, mount->>'name'
      FROM placed JOIN release ON release.id = placed.live_release_id
      JOIN app_config ON app_config.id = release.config_id
      CROSS JOIN jsonb_array_elements(coalesce(app_config.settings->'volumes', '[]'::jsonb)) AS mount
    )
    SELECT named.app_id AS "appId", named.environment_id AS "environmentId", named.name,
           (volume.used_bytes->>${serverId}::text)::bigint AS "usedBytes",
           (SELECT max(snapshot.created_at) FROM volume_snapshot AS snapshot
            WHERE snapshot.volume_id = volume.id AND snapshot.server_id = ${serverId}
              AND snapshot.state = 'stored') AS "snapshotAt"
    FROM named
    LEFT JOIN volume ON volume.app_id = named.app_id AND volume.environment_id = named.environment_id
      AND volume.name = named.name AND volume.organization_id = ${organizationId}
    ORDER BY named.app_id, named.environment_id, named.name`;
}
