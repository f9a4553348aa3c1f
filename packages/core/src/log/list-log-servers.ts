// Lists the servers that may be asked for an app's log lines.
import type { AppLogQuery } from '@fairlead/contract/app-log';
import type { OrganizationCtx } from '../kernel/index.ts';

/** Returns those of the query's servers on which the app is placed in that environment. */
export async function listLogServers(
  ctx: OrganizationCtx,
  { appId, environmentId, serverIds }: Pick<AppLogQuery, 'appId' | 'environmentId' | 'serverIds'>,
): Promise<ReadonlySet<string>> {
  const rows = await ctx.tx.placementServer.findMany({
    where: { organizationId: ctx.organizationId, placement: { appId, environmentId }, serverId: { in: serverIds } },
    select: { serverId: true },
  });
  return new Set(rows.map(({ serverId }) => serverId));
}
