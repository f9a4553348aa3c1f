// Finds the server data that the gateway needs before it authenticates the agent.
import { type OrganizationId, parseId, type ServerId } from '@fairlead/contract/ids';
import type { SystemCtx } from '../kernel/index.ts';

export interface SessionServer {
  readonly serverId: ServerId;
  readonly organizationId: OrganizationId;
  /** Raw Ed25519, 32 bytes. */
  readonly publicKey: Uint8Array<ArrayBuffer>;
}

/** Null when there is no such server: it never was, or it was deleted. */
export async function findSessionServer(
  ctx: SystemCtx,
  input: { readonly serverId: string },
): Promise<SessionServer | null> {
  const server = await ctx.tx.server.findUnique({
    where: { id: input.serverId },
    select: { id: true, organizationId: true, publicKey: true },
  });
  if (server === null) return null;
  return {
    serverId: parseId('srv', server.id),
    organizationId: parseId('org', server.organizationId),
    publicKey: server.publicKey,
  };
}
