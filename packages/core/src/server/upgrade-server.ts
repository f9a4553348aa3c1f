// Requests that a server upgrades to the agent that this control plane offers. The server reports the result.
import { supports } from '@fairlead/contract/capabilities';
import { recordAudit } from '../audit/index.ts';
import { AppError, type Ctx, notifyChange } from '../kernel/index.ts';
import { bumpServer } from './bump-server.ts';
import { isConnected } from './rules.ts';
import type { AgentOffer, GetServerInput, UpgradeServerInput, UpgradeView } from './schema.ts';
import { agentOfferFor, upgradeView } from './upgrade.ts';

/** Returns the offer, so that its program can be put where the server fetches it, and the attempt that it became. */
export async function upgradeServer(
  ctx: Ctx,
  input: UpgradeServerInput,
  offers: readonly AgentOffer[],
): Promise<GetServerInput & { readonly offer: AgentOffer; readonly attempt: number }> {
  const { organizationId } = ctx;
  const { serverId } = input;
  const now = ctx.clock.now();
  // Without the lock, two concurrent requests would get the same attempt.
  await ctx.tx
    .$queryRaw`SELECT 1 FROM server WHERE id = ${serverId} AND organization_id = ${organizationId} FOR UPDATE`;
  const server = await ctx.tx.server.findFirst({
    where: { id: serverId, organizationId },
    select: {
      name: true,
      capabilities: true,
      agentVersion: true,
      agentDigest: true,
      hostInfo: true,
      upgrade: true,
      connectedGateway: true,
      lastSeenAt: true,
    },
  });
  if (server === null) throw new AppError('server.not_found', { serverId });
  if (!isConnected(server, now)) throw new AppError('server.not_connected', { serverId });
  if (!supports(server.capabilities, 'upgrade')) throw new AppError('server.upgrade_unsupported', { serverId });
  const before = upgradeView(server.upgrade, now);
  if (before?.state === 'running') throw new AppError('server.upgrade_under_way', { serverId });
  const offer = agentOfferFor(server, offers);
  if (offer === null) throw new AppError('server.upgrade_none', { serverId });
  if (offer.digest === server.agentDigest) throw new AppError('server.upgrade_current', { serverId });

  const { version, digest, sizeBytes, signature } = offer;
  const upgrade: UpgradeView = {
    attempt: (before?.attempt ?? 0) + 1,
    version,
    digest,
    sizeBytes,
    signature,
    state: 'running',
    step: 'fetch',
    failureCode: null,
    failureMessage: null,
    requestedAt: now,
    finishedAt: null,
  };
  await ctx.tx.server.update({
    where: { id: serverId },
    data: { upgrade: { ...upgrade, requestedAt: now.toISOString(), finishedAt: null } },
    select: { id: true },
  });
  await bumpServer(ctx, serverId);
  await recordAudit(ctx, {
    action: 'server.upgrade',
    target: { kind: 'server', id: serverId, label: server.name },
    before: { agentVersion: server.agentVersion, agentDigest: server.agentDigest },
    after: { agentVersion: version, agentDigest: digest },
  });
  await notifyChange(ctx, { kind: 'server', id: serverId });
  ctx.log.info({ serverId, digest, actor: ctx.actor }, 'asked for another agent');
  return { serverId, offer, attempt: upgrade.attempt };
}
