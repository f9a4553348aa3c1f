// Reads volumes with their users.
import { parseId } from '@fairlead/contract/ids';
import { type Settings, settingsSchema } from '../config/index.ts';
import type { OrganizationCtx } from '../kernel/index.ts';
import type { VolumeView } from './schema.ts';

export async function loadVolumes(
  ctx: OrganizationCtx,
  where: { readonly id?: string; readonly appId?: string | undefined; readonly environmentId?: string | undefined },
): Promise<VolumeView[]> {
  const rows = await ctx.tx.volume.findMany({
    where: {
      organizationId: ctx.organizationId,
      ...(where.id === undefined ? {} : { id: where.id }),
      ...(where.appId === undefined ? {} : { appId: where.appId }),
      ...(where.environmentId === undefined ? {} : { environmentId: where.environmentId }),
    },
    orderBy: [{ label: 'asc' }, { name: 'asc' }, { id: 'asc' }],
  });
  const appIds = rows.map(({ appId }) => appId);
  const used = await loadUsed(ctx, appIds);
  const placements = await ctx.tx.placement.findMany({
    where: { organizationId: ctx.organizationId, appId: { in: appIds }, servers: { some: {} } },
    select: { appId: true, environmentId: true },
  });
  return rows.map((row) => {
    const bytes = Object.entries(row.usedBytes as Record<string, number>).map(([serverId, usedBytes]) => ({
      serverId: parseId('srv', serverId),
      usedBytes,
    }));
    return {
      id: parseId('vol', row.id),
      name: row.name,
      appId: parseId('app', row.appId),
      environmentId: parseId('env', row.environmentId),
      label: row.label,
      used: bytes,
      usedBytes: bytes.reduce((sum, each) => sum + each.usedBytes, 0),
      reportedAt: row.reportedAt,
      createdAt: row.createdAt,
      deleteAt: row.deleteAt,
      inUse: used.has(keyOf(row)),
      isLeft: !placements.some(
        ({ appId, environmentId }) => appId === row.appId && environmentId === row.environmentId,
      ),
    };
  });
}

/** Returns the names of an app's volumes in any environment: those on servers, and those in settings or live releases. */
export async function listVolumeNames(ctx: OrganizationCtx, { appId }: { readonly appId: string }): Promise<string[]> {
  const rows = await ctx.tx.volume.findMany({
    where: { appId, organizationId: ctx.organizationId },
    select: { name: true },
  });
  const used = [...(await loadUsed(ctx, [appId]))].map((key) => key.slice(key.lastIndexOf('/') + 1));
  return [...new Set([...rows.map(({ name }) => name), ...used])].sort();
}

/**
 * Returns the volumes that the newest settings and the live releases of these apps name, in their placements: settings
 * outlive a placement that ended.
 */
async function loadUsed(ctx: OrganizationCtx, appIds: readonly string[]): Promise<Set<string>> {
  if (appIds.length === 0) return new Set();
  const rows = await ctx.tx.$queryRaw<{ appId: string; environmentId: string; settings: unknown }[]>`
    SELECT config.app_id AS "appId", config.environment_id AS "environmentId", config.settings
    FROM app_config AS config
    WHERE config.organization_id = ${ctx.organizationId} AND config.app_id = ANY(${[...appIds]})
      AND EXISTS (SELECT 1 FROM placement JOIN placement_server ON placement_server.placement_id = placement.id
                  WHERE placement.app_id = config.app_id AND placement.environment_id = config.environment_id)
      AND (NOT EXISTS (SELECT 1 FROM app_config AS newer
                       WHERE newer.app_id = config.app_id AND newer.environment_id = config.environment_id
                         AND newer.number > config.number)
        OR EXISTS (SELECT 1 FROM placement JOIN placement_server ON placement_server.placement_id = placement.id
                   JOIN release ON release.id = placement_server.live_release_id
                   WHERE placement.app_id = config.app_id AND release.config_id = config.id)
        OR EXISTS (SELECT 1 FROM deployment WHERE deployment.config_id = config.id
                     AND deployment.state IN ('building', 'releasing', 'rolling_out')))`;
  return new Set(rows.flatMap((row) => namesOf(row.settings).map((name) => keyOf({ ...row, name }))));
}

function namesOf(settings: unknown): string[] {
  const { volumes }: Pick<Settings, 'volumes'> = settingsSchema.parse(settings);
  return volumes.map(({ name }) => name);
}

function keyOf(row: { readonly appId: string; readonly environmentId: string; readonly name: string }): string {
  return `${row.appId}/${row.environmentId}/${row.name}`;
}
