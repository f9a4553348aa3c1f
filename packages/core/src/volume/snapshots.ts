// Snapshots of volumes: requests them from servers, and reads the newest ones.
import { supports } from '@fairlead/contract/capabilities';
import { newId, parseId, type VolumeTaskId } from '@fairlead/contract/ids';
import { recordAudit } from '../audit/index.ts';
import { AppError, type Ctx, isUniqueViolation, notifyChange, type OrganizationCtx } from '../kernel/index.ts';
import { requirePlacement } from '../placement/index.ts';
import { bumpServer, isConnected } from '../server/index.ts';
import type { SnapshotList, SnapshotView, VolumeRef } from './schema.ts';

export interface SnapshotVolume {
  readonly id: string;
  readonly appId: string;
  readonly environmentId: string;
  readonly name: string;
}

export interface SnapshotOrder {
  readonly volume: SnapshotVolume;
  readonly serverId: string;
  readonly reason: 'schedule' | 'manual' | 'move';
  readonly moveId?: string;
}

/** The caller bumps the server. A snapshot that runs already is taken over by a move, which waits for the app to stop. */
export async function addSnapshot(ctx: OrganizationCtx, order: SnapshotOrder): Promise<VolumeTaskId> {
  const { tx, organizationId } = ctx;
  const { volume, serverId, reason, moveId = null } = order;
  const id = newId('vtk');
  const now = ctx.clock.now();
  if (moveId !== null) {
    await tx.volumeSnapshot.updateMany({
      where: { organizationId, volumeId: volume.id, serverId, state: 'running' },
      data: { state: 'failed', failureMessage: 'The app moved to another server.', finishedAt: now },
    });
  }
  const { appId, environmentId } = volume;
  await tx.volumeSnapshot.create({
    data: { id, organizationId, volumeId: volume.id, appId, environmentId, serverId, reason, moveId, createdAt: now },
  });
  return id;
}

/**
 * Returns the volumes of an app on a server: those that it has reported, and those of the live release there. A volume that
 * was not reported yet gets its row.
 */
export async function ensureVolumes(
  ctx: OrganizationCtx,
  place: { readonly appId: string; readonly environmentId: string; readonly serverId: string },
): Promise<SnapshotVolume[]> {
  const { tx, organizationId } = ctx;
  const { appId, environmentId, serverId } = place;
  const names = await tx.$queryRaw<{ name: string }[]>`
    SELECT DISTINCT mount->>'name' AS name FROM placement
    JOIN placement_server ON placement_server.placement_id = placement.id AND placement_server.server_id = ${serverId}
    JOIN release ON release.id = placement_server.live_release_id
    JOIN app_config ON app_config.id = release.config_id
    CROSS JOIN jsonb_array_elements(coalesce(app_config.settings->'volumes', '[]'::jsonb)) AS mount
    WHERE placement.organization_id = ${organizationId} AND placement.app_id = ${appId}
      AND placement.environment_id = ${environmentId} ORDER BY 1`;
  const rows = JSON.stringify(names.map(({ name }) => ({ id: newId('vol'), name })));
  await tx.$executeRaw`
    INSERT INTO volume (id, organization_id, app_id, environment_id, name, label, created_at)
    SELECT row.id, ${organizationId}, app.id, environment.id, row.name, app.name || ' · ' || environment.name,
           ${ctx.clock.now()}
    FROM jsonb_to_recordset(${rows}::jsonb) AS row (id text, name text), app, environment
    WHERE app.id = ${appId} AND app.organization_id = ${organizationId}
      AND environment.id = ${environmentId} AND environment.organization_id = ${organizationId}
    ON CONFLICT (app_id, environment_id, name) DO NOTHING`;
  return tx.$queryRaw<SnapshotVolume[]>`
    SELECT id, app_id AS "appId", environment_id AS "environmentId", name FROM volume
    WHERE organization_id = ${organizationId} AND app_id = ${appId} AND environment_id = ${environmentId}
      AND released_at IS NULL
      AND (jsonb_exists(used_bytes, ${serverId}) OR name = ANY(${names.map(({ name }) => name)}))
    ORDER BY id`;
}

/** Returns the newest stored snapshot of each volume of an app on a server. */
export function findNewestSnapshots(
  { tx, organizationId }: OrganizationCtx,
  place: { readonly appId: string; readonly environmentId: string; readonly serverId: string },
): Promise<{ id: string; volumeId: string }[]> {
  return tx.$queryRaw<{ id: string; volumeId: string }[]>`
    SELECT DISTINCT ON (volume_id) snapshot.id, volume_id AS "volumeId" FROM volume_snapshot AS snapshot
    JOIN volume ON volume.id = snapshot.volume_id AND volume.released_at IS NULL
    WHERE snapshot.organization_id = ${organizationId} AND snapshot.app_id = ${place.appId}
      AND snapshot.environment_id = ${place.environmentId} AND snapshot.server_id = ${place.serverId}
      AND snapshot.state = 'stored'
    ORDER BY volume_id, snapshot.created_at DESC`;
}

/**
 * Takes a snapshot on the app's primary server now. Throws volume.not_found, app.not_found, server.not_connected,
 * snapshot.unsupported and snapshot.under_way.
 */
export async function createSnapshot(ctx: Ctx, { volumeId }: VolumeRef): Promise<VolumeRef> {
  const { tx, organizationId } = ctx;
  const volume = await tx.volume.findFirst({
    where: { id: volumeId, organizationId, releasedAt: null },
    select: { id: true, appId: true, environmentId: true, name: true, label: true },
  });
  if (volume === null) throw new AppError('volume.not_found', { volumeId });
  const { serverId } = await requirePlacement(ctx, volume);
  const server = await tx.server.findFirstOrThrow({
    where: { id: serverId, organizationId },
    select: { capabilities: true, connectedGateway: true, lastSeenAt: true },
  });
  if (!isConnected(server, ctx.clock.now())) throw new AppError('server.not_connected', { serverId });
  if (!supports(server.capabilities, 'volume.snapshot')) throw new AppError('snapshot.unsupported', { serverId });
  const running = { organizationId, volumeId, serverId, state: 'running' };
  if ((await tx.volumeSnapshot.count({ where: running })) > 0) throw new AppError('snapshot.under_way', { volumeId });
  try {
    await addSnapshot(ctx, { volume, serverId, reason: 'manual' });
  } catch (error) {
    if (isUniqueViolation(error)) throw new AppError('snapshot.under_way', { volumeId });
    throw error;
  }
  await bumpServer(ctx, serverId);
  await recordAudit(ctx, {
    action: 'volume.create_snapshot',
    target: { kind: 'volume', id: volumeId, label: `${volume.label} · ${volume.name}` },
    after: { serverId },
  });
  await notifyChange(ctx, { kind: 'app', id: volume.appId, appId: volume.appId });
  return { volumeId };
}

/** Snapshots of moves are no backups: they end with their move. */
export async function listSnapshots(ctx: OrganizationCtx, { volumeId }: VolumeRef): Promise<SnapshotList> {
  const { tx, organizationId } = ctx;
  const rows = await tx.volumeSnapshot.findMany({
    where: { organizationId, volumeId, moveId: null },
    orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
    take: 50,
  });
  const servers = await tx.server.findMany({ where: { organizationId }, select: { id: true, name: true } });
  const items = rows.map(
    (row): SnapshotView => ({
      snapshotId: parseId('vtk', row.id),
      serverId: parseId('srv', row.serverId),
      serverName: servers.find(({ id }) => id === row.serverId)?.name ?? null,
      reason: row.reason === 'schedule' ? 'schedule' : 'manual',
      state: row.state === 'stored' || row.state === 'failed' ? row.state : 'running',
      step: row.step,
      sizeBytes: row.sizeBytes === null ? null : Number(row.sizeBytes),
      failureMessage: row.failureMessage,
      createdAt: row.createdAt,
    }),
  );
  return { items };
}
