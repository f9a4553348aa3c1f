// Continues an agent rollout that has stopped. The servers that failed are tried again first.
import { recordAudit } from '../audit/index.ts';
import { AppError, type Ctx, isUniqueViolation, notifyChange } from '../kernel/index.ts';
import { progressOf } from './machine.ts';
import type { AgentRolloutRef } from './schema.ts';
import { loadRolloutServers, lockRollout, parseOffers } from './store.ts';

/** Throws agent_rollout.not_found, agent_rollout.not_stopped and agent_rollout.running. */
export async function retryAgentRollout(ctx: Ctx, { rolloutId }: AgentRolloutRef): Promise<AgentRolloutRef> {
  const { tx, organizationId } = ctx;
  const rollout = await lockRollout(ctx, { rolloutId });
  if (rollout === null) throw new AppError('agent_rollout.not_found', { rolloutId });
  if (rollout.state !== 'stopped') throw new AppError('agent_rollout.not_stopped', { rolloutId });
  const offers = parseOffers(rollout.offers);
  const servers = await loadRolloutServers(ctx, offers, rolloutId);
  const failed = servers.filter((server) => server.leftOut === null && progressOf(server) === 'failed');
  await tx.agentRolloutServer.updateMany({
    where: { rolloutId, organizationId, serverId: { in: failed.map(({ id }) => id) } },
    data: { attempt: null },
  });
  try {
    await tx.agentRollout.updateMany({
      where: { id: rolloutId, organizationId },
      data: { state: 'running', failedServerId: null, reason: null, waveStartedAt: ctx.clock.now() },
    });
  } catch (error) {
    if (isUniqueViolation(error)) throw new AppError('agent_rollout.running');
    throw error;
  }
  await recordAudit(ctx, {
    action: 'agent_rollout.retry',
    target: { kind: 'agent_rollout', id: rolloutId, label: offers[0]?.version ?? '' },
    after: { servers: failed.map(({ name }) => name) },
  });
  await notifyChange(ctx, { kind: 'agent_rollout', id: rolloutId });
  return { rolloutId };
}
