// Records servers' reports of their volumes.
// Invariant: it never believes an agent about apps of others.
import type { VolumeStatus } from '@fairlead/contract/agent';
import { newId, parseId } from '@fairlead/contract/ids';
import { forOrganization, notifyChange, type OrganizationCtx, type SystemCtx } from '../kernel/index.ts';
import { bumpServer } from '../server/index.ts';

export interface ReportedVolumes {
  readonly serverId: string;
  readonly volumes: readonly VolumeStatus[];
}

const volumesMax = 1000;

/**
 * A report is complete: a volume that a server does not name is gone there, and a deleted volume that no server has
 * ends.
 */
export async function recordVolumes(ctx: OrganizationCtx, input: ReportedVolumes): Promise<void> {
  const { tx, organizationId } = ctx;
  const { serverId } = input;
  const now = ctx.clock.now();
  const rows = input.volumes.slice(0, volumesMax).flatMap(({ key, usedBytes }) =>
    key === undefined
      ? []
      : [
          {
            id: newId('vol'),
            appId: key.appId,
            environmentId: key.environmentId,
            name: key.name,
            usedBytes: Number(BigInt.asUintN(50, usedBytes)),
          },
        ],
  );
  const wanted = JSON.stringify(rows);
  // New ones only of apps that are placed on this very server.
  await tx.$executeRaw`
    INSERT INTO volume (id, organization_id, app_id, environment_id, name, label, used_bytes, reported_at, created_at)
    SELECT row.id, ${organizationId}, row."appId", row."environmentId", row.name, app.name || ' · ' || environment.name,
           jsonb_build_object(${serverId}::text, row."usedBytes"), ${now}, ${now}
    FROM jsonb_to_recordset(${wanted}::jsonb)
      AS row (id text, "appId" text, "environmentId" text, name text, "usedBytes" bigint)
    JOIN placement ON placement.app_id = row."appId" AND placement.environment_id = row."environmentId"
                  AND placement.organization_id = ${organizationId}
    JOIN placement_server ON placement_server.placement_id = placement.id AND placement_server.server_id = ${serverId}
    JOIN app ON app.id = row."appId" AND app.organization_id = ${organizationId}
    JOIN environment ON environment.id = row."environmentId" AND environment.organization_id = ${organizationId}
    WHERE row.name ~ '^[a-z0-9][a-z0-9-]{0,39}$'
    ON CONFLICT (app_id, environment_id, name) DO NOTHING`;
  await tx.$executeRaw`
    UPDATE volume SET used_bytes = volume.used_bytes || jsonb_build_object(${serverId}::text, row."usedBytes"),
                      reported_at = ${now}
    FROM jsonb_to_recordset(${wanted}::jsonb)
      AS row ("appId" text, "environmentId" text, name text, "usedBytes" bigint)
    WHERE volume.organization_id = ${organizationId} AND volume.app_id = row."appId"
      AND volume.environment_id = row."environmentId" AND volume.name = row.name
      AND (volume.used_bytes->>${serverId}::text)::bigint IS DISTINCT FROM row."usedBytes"`;
  await tx.$executeRaw`
    UPDATE volume SET used_bytes = volume.used_bytes - ${serverId}::text
    WHERE volume.organization_id = ${organizationId} AND jsonb_exists(volume.used_bytes, ${serverId})
      AND NOT EXISTS (
        SELECT 1 FROM jsonb_to_recordset(${wanted}::jsonb) AS row ("appId" text, "environmentId" text, name text)
        WHERE volume.app_id = row."appId" AND volume.environment_id = row."environmentId" AND volume.name = row.name)`;
  await tx.$executeRaw`
    DELETE FROM volume
    WHERE organization_id = ${organizationId} AND released_at IS NOT NULL AND used_bytes = '{}'::jsonb`;
}

/** Notifies the servers of volumes at the end of their delay. One that no server holds ends at once. System scope. */
export async function releaseDueVolumes(ctx: SystemCtx): Promise<number> {
  const now = ctx.clock.now();
  const due = await ctx.tx.$queryRaw<
    { id: string; organizationId: string; appId: string; usedBytes: Record<string, number> }[]
  >`
    UPDATE volume SET released_at = ${now}
    WHERE delete_at <= ${now} AND released_at IS NULL
    RETURNING id, organization_id AS "organizationId", app_id AS "appId", used_bytes AS "usedBytes"`;
  for (const { id, organizationId, appId, usedBytes } of due) {
    const scoped = forOrganization(ctx, parseId('org', organizationId));
    const serverIds = Object.keys(usedBytes).sort();
    const servers = await ctx.tx.server.findMany({
      where: { id: { in: serverIds }, organizationId },
      select: { id: true },
      orderBy: { id: 'asc' },
    });
    for (const server of servers) await bumpServer(scoped, server.id);
    if (servers.length === 0) await ctx.tx.volume.deleteMany({ where: { id, organizationId } });
    await notifyChange(scoped, { kind: 'app', id: appId, appId });
    ctx.log.info({ volumeId: id, servers: servers.length }, 'the delay of a volume has passed');
  }
  return due.length;
}
