// Records that a server's agent is disconnected: its connection ended, or the gateway that held it did.
import { parseId } from '@fairlead/contract/ids';
import { forOrganization, notifyChange, type SystemCtx } from '../kernel/index.ts';

/** Does nothing when a newer connection holds the agent already. */
export async function closeSession(
  ctx: SystemCtx,
  input: { readonly serverId: string; readonly connection: string },
): Promise<void> {
  await disconnect(ctx, { id: input.serverId, connectedGateway: input.connection });
}

/**
 * Closes every session that a gateway left open. A gateway that was killed could not do it itself, so its successor of
 * the same name does at start.
 */
export async function closeGatewaySessions(
  ctx: SystemCtx,
  input: { readonly connectionPrefix: string },
): Promise<void> {
  await disconnect(ctx, { connectedGateway: { startsWith: input.connectionPrefix } });
}

async function disconnect(
  ctx: SystemCtx,
  where: { id?: string; connectedGateway: string | { startsWith: string } },
): Promise<void> {
  const servers = await ctx.tx.server.updateManyAndReturn({
    where,
    data: { connectedGateway: null, transferTokenHash: null, lastSeenAt: ctx.clock.now() },
    select: { id: true, organizationId: true },
  });
  for (const server of servers) {
    await notifyChange(forOrganization(ctx, parseId('org', server.organizationId)), { kind: 'server', id: server.id });
  }
}
