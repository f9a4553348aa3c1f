// Starts the upgrade of all agents of an organization. A job does the upgrades, wave by wave.
import { newId } from '@fairlead/contract/ids';
import { recordAudit } from '../audit/index.ts';
import { AppError, actorUserId, type Ctx, isUniqueViolation, notifyChange } from '../kernel/index.ts';
import type { AgentOffer } from '../server/schema.ts';
import { planWaves } from './machine.ts';
import type { AgentRolloutRef } from './schema.ts';
import { loadRolloutServers, neededOffers } from './store.ts';

/**
 * Replaces a rollout that has stopped. Returns the offers that its servers need, so that their programs can be put where
 * the servers fetch them. Throws agent_rollout.nothing and agent_rollout.running.
 */
export async function startAgentRollout(
  ctx: Ctx,
  offers: readonly AgentOffer[],
): Promise<AgentRolloutRef & { readonly offers: readonly AgentOffer[] }> {
  const { tx, organizationId } = ctx;
  const now = ctx.clock.now();
  // The servers that run the offered program are no part of it.
  const servers = (await loadRolloutServers(ctx, offers)).filter(({ obstacle }) => obstacle !== 'current');
  const waves = planWaves(servers.filter(({ obstacle }) => obstacle === null));
  if (waves.length === 0) throw new AppError('agent_rollout.nothing');
  const needed = neededOffers(offers, waves.flat());

  await tx.agentRollout.updateMany({
    where: { organizationId, state: 'stopped' },
    data: { state: 'cancelled', finishedAt: now },
  });
  const rolloutId = newId('aro');
  const requestedByUserId = actorUserId(ctx.actor);
  const data = { id: rolloutId, organizationId, offers: needed, requestedByUserId, createdAt: now };
  try {
    await tx.agentRollout.create({ data, select: { id: true } });
  } catch (error) {
    if (isUniqueViolation(error)) throw new AppError('agent_rollout.running');
    throw error;
  }
  await tx.agentRolloutServer.createMany({
    data: servers.map(({ id, obstacle }) => ({ rolloutId, organizationId, serverId: id, leftOut: obstacle })),
  });
  await recordAudit(ctx, {
    action: 'agent_rollout.start',
    target: { kind: 'agent_rollout', id: rolloutId, label: needed[0]?.version ?? '' },
    after: {
      programs: needed.map(({ target, version, digest }) => `${target} ${version} ${digest}`),
      servers: waves.flat().map(({ name }) => name),
    },
  });
  await notifyChange(ctx, { kind: 'agent_rollout', id: rolloutId });
  ctx.log.info({ rolloutId, servers: waves.flat().length, actor: ctx.actor }, 'started an agent rollout');
  return { rolloutId, offers: needed };
}
