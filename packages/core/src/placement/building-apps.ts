// Apps that a server builds by their settings. Deployments build them on their primary server while it is drained.
import { parseId } from '@fairlead/contract/ids';
import type { OrganizationCtx } from '../kernel/index.ts';
import type { BuildingApp } from './schema.ts';

/** Returns the apps whose newest settings name the server as their build server, where they run. */
export async function listBuildingApps(
  ctx: OrganizationCtx,
  { serverId }: { readonly serverId: string },
): Promise<BuildingApp[]> {
  const { tx, organizationId } = ctx;
  const places = await tx.$queryRaw<{ appId: string; environmentId: string }[]>`
    SELECT app_id AS "appId", environment_id AS "environmentId" FROM app_config AS config
    WHERE organization_id = ${organizationId} AND settings->>'buildServerId' = ${serverId}
      AND NOT EXISTS (
        SELECT 1 FROM app_config AS newer
        WHERE newer.organization_id = config.organization_id AND newer.app_id = config.app_id
          AND newer.environment_id = config.environment_id AND newer.number > config.number)`;
  const rows = await tx.placement.findMany({
    where: { organizationId, OR: places, servers: { some: {} } },
    orderBy: [{ app: { name: 'asc' } }, { id: 'asc' }],
    select: {
      appId: true,
      environmentId: true,
      app: { select: { name: true, slug: true } },
      environment: { select: { name: true } },
    },
  });
  return rows.map(({ appId, environmentId, app, environment }) => ({
    appId: parseId('app', appId),
    slug: app.slug,
    name: app.name,
    environmentId: parseId('env', environmentId),
    environmentName: environment.name,
  }));
}
