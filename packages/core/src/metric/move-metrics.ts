// Moves an app's samples to its new environments, after the app moved to another project.
import type { AppId, EnvironmentId } from '@fairlead/contract/ids';
import { Prisma } from '@fairlead/db';
import type { OrganizationCtx } from '../kernel/index.ts';

/**
 * Tables with samples of apps. Each moves in its own transaction, because the largest have a sample per second. Those move
 * last: their move repeats roll-ups that ran meanwhile and missed samples.
 */
export const movedTables = ['route_1h', 'app_1h', 'route_1m', 'app_1m', 'route_1s', 'app_1s'] as const;
export type MovedTable = (typeof movedTables)[number];

export interface MoveMetricsInput {
  readonly appId: AppId;
  readonly environments: readonly { readonly from: EnvironmentId; readonly to: EnvironmentId }[];
}

/** Safe to run twice. System scope, because tenants never write samples. */
export async function moveMetrics(
  ctx: OrganizationCtx,
  { appId, environments }: MoveMetricsInput,
  table: MovedTable,
): Promise<void> {
  const { tx, organizationId } = ctx;
  const samples = Prisma.raw(`metric.${table}`);
  const keys = table.startsWith('route') ? ['server_id', 'at', 'host', 'path_prefix'] : ['server_id', 'at'];
  const isSame = Prisma.raw(keys.map((column) => `newer.${column} = sample.${column}`).join(' AND '));
  for (const { from, to } of environments) {
    const here = Prisma.sql`sample.organization_id = ${organizationId} AND sample.app_id = ${appId}
      AND sample.environment_id = ${from}`;
    await tx.$executeRaw`
      UPDATE ${samples} AS sample SET environment_id = ${to}
      WHERE ${here} AND NOT EXISTS (
        SELECT 1 FROM ${samples} AS newer
        WHERE newer.app_id = sample.app_id AND newer.environment_id = ${to} AND ${isSame})`;
    // Both environments have a roll-up of the current minute or hour. It is rolled up again from the moved samples.
    await tx.$executeRaw`DELETE FROM ${samples} AS sample WHERE ${here}`;
    if (table === 'app_1s') await markLastHour(ctx, { appId, environmentId: to });
  }
}

/** Marks the last hour for another roll-up, because roll-ups before this move missed the samples. */
async function markLastHour(
  { tx, organizationId, clock }: OrganizationCtx,
  { appId, environmentId }: { readonly appId: AppId; readonly environmentId: EnvironmentId },
): Promise<void> {
  const since = new Date(clock.now().getTime() - 60 * 60_000);
  await tx.$executeRaw`
    INSERT INTO metric.roll_up_due (resolution, at, server_id, organization_id)
    SELECT DISTINCT '1m', date_trunc('minute', at), server_id, ${organizationId} FROM metric.app_1s
    WHERE app_id = ${appId} AND environment_id = ${environmentId} AND at >= ${since}
    ON CONFLICT (resolution, at, server_id) DO UPDATE SET organization_id = excluded.organization_id`;
}
