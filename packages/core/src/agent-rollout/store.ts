// Reads agent rollouts and the facts of their servers.
import { supports } from '@fairlead/contract/capabilities';
import { z } from 'zod';
import type { OrganizationCtx } from '../kernel/index.ts';
import { agentOfferFor, isConnected, upgradeView } from '../server/index.ts';
import { type AgentOffer, agentOfferSchema } from '../server/schema.ts';
import type { RolloutServer } from './machine.ts';
import { type LeftOutReason, leftOutReasonSchema } from './schema.ts';

export function parseOffers(stored: unknown): readonly AgentOffer[] {
  return z.array(agentOfferSchema).parse(stored);
}

/** Returns the servers of a rollout, or all of the organization if there is none yet, by name. */
export async function loadRolloutServers(
  ctx: OrganizationCtx,
  offers: readonly AgentOffer[],
  rolloutId: string | null = null,
): Promise<RolloutServer[]> {
  const { tx, organizationId } = ctx;
  const now = ctx.clock.now();
  const own = { rolloutId: rolloutId ?? '' };
  const rows = await tx.server.findMany({
    where: { organizationId, ...(rolloutId === null ? {} : { agentRollouts: { some: own } }) },
    orderBy: { name: 'asc' },
    select: {
      id: true,
      name: true,
      isLocal: true,
      capabilities: true,
      agentDigest: true,
      hostInfo: true,
      upgrade: true,
      connectedGateway: true,
      lastSeenAt: true,
      agentRollouts: { where: own, select: { wave: true, attempt: true, leftOut: true } },
      _count: { select: { placements: true } },
    },
  });
  return rows.map(({ id, name, isLocal, agentRollouts: [taken], _count, ...facts }) => {
    const offer = agentOfferFor(facts, offers);
    return {
      id,
      name,
      isLocal,
      appCount: _count.placements,
      wave: taken?.wave ?? null,
      attempt: taken?.attempt ?? null,
      leftOut: leftOutReasonSchema.nullable().parse(taken?.leftOut ?? null),
      isConnected: isConnected(facts, now),
      obstacle: obstacleOf(facts, offer, now),
      offer,
      upgrade: upgradeView(facts.upgrade, now),
    };
  });
}

/** Returns the programs that the servers need, in the order of the offers. */
export function neededOffers(offers: readonly AgentOffer[], servers: readonly RolloutServer[]): AgentOffer[] {
  return offers.filter((offer) => servers.some((server) => server.offer === offer));
}

interface UpgradeFacts {
  readonly connectedGateway: string | null;
  readonly lastSeenAt: Date | null;
  readonly capabilities: readonly string[];
  readonly agentDigest: string | null;
}

/** The conditions under which `upgradeServer` refuses, without a running upgrade, which ends. */
function obstacleOf(facts: UpgradeFacts, offer: AgentOffer | null, now: Date): LeftOutReason | null {
  if (offer !== null && offer.digest === facts.agentDigest) return 'current';
  if (!isConnected(facts, now)) return 'offline';
  if (offer === null) return 'no_program';
  return supports(facts.capabilities, 'upgrade') ? null : 'unsupported';
}

/** Locks a rollout. Take this lock before those of its servers. Null: there is no such rollout. */
export async function lockRollout(
  { tx, organizationId }: OrganizationCtx,
  { rolloutId }: { readonly rolloutId: string },
) {
  await tx.$queryRaw`
    SELECT 1 FROM agent_rollout WHERE id = ${rolloutId} AND organization_id = ${organizationId} FOR UPDATE`;
  return tx.agentRollout.findFirst({ where: { id: rolloutId, organizationId } });
}
