// Records which gateway connection holds a server's agent. The newest connection wins.
import type { HostInfo, SealingKey } from '@fairlead/contract/agent';
import { parseId } from '@fairlead/contract/ids';
import { AppError, canonicalAddress, forOrganization, notifyChange, type SystemCtx } from '../kernel/index.ts';
import { agentVersionOf, clipList, hostInfoOf, interfaceAddressesOf, recipientOf } from './agent-host.ts';
import { bumpServer } from './bump-server.ts';

export interface OpenSessionInput {
  readonly serverId: string;
  /** Id of one connection of one gateway; `closeSession` of an older one does not affect a newer one. */
  readonly connection: string;
  readonly agentVersion: string;
  readonly capabilities: readonly string[];
  readonly host: HostInfo | undefined;
  /** Address from which the agent connects; null if no trusted proxy names it. */
  readonly ip?: string | null;
  /** Its signature was checked by the gateway. */
  readonly sealing?: SealingKey | undefined;
  /** Opens the artifact store while the session lasts. */
  readonly transferTokenHash?: string;
}

export interface OpenedSession {
  readonly desired: { readonly epoch: number; readonly number: bigint };
  /** The highest push that is stored. */
  readonly pushAckedSequence: bigint;
  /** Agent clock minus ours, as last measured. */
  readonly clockOffsetMs: number;
}

/** Throws link.server_unknown when the server was deleted since the agent said hello. */
export async function openSession(ctx: SystemCtx, input: OpenSessionInput): Promise<OpenedSession> {
  const now = ctx.clock.now();
  const recipient = recipientOf(input.sealing);
  await adoptRecipient(ctx, input.serverId, recipient);
  const [server] = await ctx.tx.server.updateManyAndReturn({
    where: { id: input.serverId },
    data: {
      connectedGateway: input.connection,
      transferTokenHash: input.transferTokenHash ?? null,
      connectedAt: now,
      lastSeenAt: now,
      agentVersion: agentVersionOf(input.agentVersion),
      capabilities: clipList(input.capabilities),
      hostInfo: hostInfoOf(input.host),
      interfaceAddresses: interfaceAddressesOf(input.host),
      connectionAddress: canonicalAddress(input.ip ?? ''),
    },
  });
  if (server === undefined) throw new AppError('link.server_unknown', { serverId: input.serverId });
  await notifyChange(forOrganization(ctx, parseId('org', server.organizationId)), { kind: 'server', id: server.id });
  return {
    desired: { epoch: server.desiredEpoch, number: server.desiredNumber },
    pushAckedSequence: server.pushAckedSequence,
    clockOffsetMs: server.clockOffsetMs,
  };
}

/**
 * Stores a new recipient key and bumps the state, because the old key's secrets cannot be opened any more. An agent
 * that sends none keeps its own.
 */
async function adoptRecipient(ctx: SystemCtx, serverId: string, recipient: string | undefined): Promise<void> {
  if (recipient === undefined) return;
  const [changed] = await ctx.tx.server.updateManyAndReturn({
    where: { id: serverId, OR: [{ sealingRecipient: null }, { sealingRecipient: { not: recipient } }] },
    data: { sealingRecipient: recipient },
    select: { organizationId: true },
  });
  if (changed !== undefined) await bumpServer(forOrganization(ctx, parseId('org', changed.organizationId)), serverId);
}
