// Bumps the states of local servers when the control plane starts: its addresses are part of their routes, and may
// have changed while it was down.
import { parseId } from '@fairlead/contract/ids';
import { forOrganization, type SystemCtx } from '../kernel/index.ts';
import { bumpServer } from './bump-server.ts';

export async function bumpLocalServers(ctx: SystemCtx): Promise<void> {
  const servers = await ctx.tx.server.findMany({
    where: { isLocal: true },
    select: { id: true, organizationId: true },
    orderBy: { id: 'asc' },
  });
  for (const server of servers)
    await bumpServer(forOrganization(ctx, parseId('org', server.organizationId)), server.id);
}
