// Tells servers to delete the volumes that moved apps have left there, at the end of their delay.
import { parseId } from '@fairlead/contract/ids';
import { forOrganization, type SystemCtx } from '../kernel/index.ts';
import { bumpServer } from '../server/index.ts';

/** The desired state names only volumes of apps that have not come back. System scope. */
export async function releaseLeftVolumes(ctx: SystemCtx): Promise<number> {
  const now = ctx.clock.now();
  const due = await ctx.tx.$queryRaw<{ organizationId: string; serverId: string }[]>`
    UPDATE volume_move SET left_released_at = ${now}
    WHERE delete_left_at <= ${now} AND left_released_at IS NULL AND left_server_id IS NOT NULL
    RETURNING organization_id AS "organizationId", left_server_id AS "serverId"`;
  const servers = await ctx.tx.server.findMany({
    where: { id: { in: due.map(({ serverId }) => serverId) } },
    select: { id: true, organizationId: true },
    orderBy: { id: 'asc' },
  });
  for (const { id, organizationId } of servers) {
    await bumpServer(forOrganization(ctx, parseId('org', organizationId)), id);
  }
  return due.length;
}
