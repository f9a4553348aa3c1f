// Checks the server that is to read the source of a new app. Never queries a server that can't answer.
import { supports } from '@fairlead/contract/capabilities';
import type { InspectQuery } from '@fairlead/contract/inspection';
import { AppError, type OrganizationCtx } from '../kernel/index.ts';
import { isConnected } from '../server/index.ts';
import type { InspectSourceInput } from '../source/index.ts';

/** Throws server.not_found, server.not_connected and inspect.unsupported. */
export async function toInspectQuery(ctx: OrganizationCtx, input: InspectSourceInput): Promise<InspectQuery> {
  const { organizationId } = ctx;
  const { serverId, branch, environmentId: _, ...source } = input;
  const server = await ctx.tx.server.findFirst({
    where: { id: serverId, organizationId },
    select: { connectedGateway: true, lastSeenAt: true, capabilities: true },
  });
  if (server === null) throw new AppError('server.not_found', { serverId });
  if (!isConnected(server, ctx.clock.now())) throw new AppError('server.not_connected', { serverId });
  if (!supports(server.capabilities, 'inspect')) throw new AppError('inspect.unsupported', { serverId });
  return { ...source, organizationId, serverId, ref: branch };
}
