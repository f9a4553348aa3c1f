// Returns the upgrade of all agents that runs, and the one that could start.
import { parseId } from '@fairlead/contract/ids';
import type { Ctx } from '../kernel/index.ts';
import type { AgentOffer } from '../server/schema.ts';
import { planWaves, progressOf, type RolloutServer } from './machine.ts';
import {
  type AgentRolloutOverview,
  type AgentRolloutView,
  type AvailableRollout,
  agentRolloutStateSchema,
  type LeftOutReason,
} from './schema.ts';
import { loadRolloutServers, neededOffers, parseOffers } from './store.ts';

/** Time for which the end of a rollout is shown. */
const endShownMs = 60 * 60_000;

export async function getAgentRollout(ctx: Ctx, offers: readonly AgentOffer[]): Promise<AgentRolloutOverview> {
  const rollout = await loadLastRollout(ctx, offers);
  return { rollout, available: rollout?.state === 'running' ? null : await findAvailable(ctx, offers) };
}

async function findAvailable(ctx: Ctx, offers: readonly AgentOffer[]): Promise<AvailableRollout | null> {
  const servers = await loadRolloutServers(ctx, offers);
  const waves = planWaves(servers.filter(({ obstacle }) => obstacle === null));
  if (waves.length === 0) return null;
  return {
    version: neededOffers(offers, waves.flat())[0]?.version ?? '',
    waves: waves.map((wave) => wave.map(refOf)),
    leftOut: servers.flatMap((server) => leftOutOf(server, server.obstacle === 'current' ? null : server.obstacle)),
  };
}

async function loadLastRollout(ctx: Ctx, offers: readonly AgentOffer[]): Promise<AgentRolloutView | null> {
  const { tx, organizationId } = ctx;
  const row = await tx.agentRollout.findFirst({
    where: {
      organizationId,
      OR: [
        { state: { in: ['running', 'stopped'] } },
        { finishedAt: { gte: new Date(ctx.clock.now().getTime() - endShownMs) } },
      ],
    },
    orderBy: [{ createdAt: 'desc' }, { id: 'asc' }],
  });
  if (row === null) return null;
  const own = parseOffers(row.offers);
  const servers = await loadRolloutServers(ctx, own, row.id);
  const taking = servers.filter(({ leftOut }) => leftOut === null);
  const ahead = planWaves(taking.filter(({ wave, obstacle }) => wave !== null || obstacle === null));
  // The row may be older than its servers, which one query has read together.
  const current = Math.max(0, ...taking.map(({ wave }) => wave ?? 0));
  const requester = row.requestedByUserId;
  const user =
    requester === null ? null : await tx.user.findFirst({ where: { id: requester }, select: { name: true } });
  return {
    id: parseId('aro', row.id),
    version: own[0]?.version ?? '',
    state: agentRolloutStateSchema.parse(row.state),
    wave: current,
    waveCount: current + ahead.length,
    servers: [...taking]
      .sort((a, b) => (a.wave ?? Number.POSITIVE_INFINITY) - (b.wave ?? Number.POSITIVE_INFINITY))
      .map((server) => {
        const progress = progressOf(server);
        const step = progress === 'upgrading' ? (server.upgrade?.step ?? null) : null;
        return { ...refOf(server), wave: server.wave, progress, step };
      }),
    leftOut: servers.flatMap((server) => leftOutOf(server, server.leftOut)),
    failedServer: servers.find(({ id }) => id === row.failedServerId)?.name ?? null,
    reason: row.reason,
    isOffered: own.every(({ digest }) => offers.some((offer) => offer.digest === digest)),
    requestedBy: user?.name ?? null,
    createdAt: row.createdAt,
    finishedAt: row.finishedAt,
  };
}

function refOf({ id, name }: RolloutServer) {
  return { id: parseId('srv', id), name };
}

function leftOutOf(server: RolloutServer, reason: LeftOutReason | null) {
  return reason === null ? [] : [{ ...refOf(server), reason }];
}
