// Cancels an agent rollout. Upgrades of single servers that run are finished by their agents.
import { recordAudit } from '../audit/index.ts';
import { AppError, type Ctx, notifyChange } from '../kernel/index.ts';
import type { AgentRolloutRef } from './schema.ts';
import { lockRollout, parseOffers } from './store.ts';

/** Throws agent_rollout.not_found and agent_rollout.ended. */
export async function cancelAgentRollout(ctx: Ctx, { rolloutId }: AgentRolloutRef): Promise<AgentRolloutRef> {
  const { tx, organizationId } = ctx;
  const rollout = await lockRollout(ctx, { rolloutId });
  if (rollout === null) throw new AppError('agent_rollout.not_found', { rolloutId });
  if (rollout.state !== 'running' && rollout.state !== 'stopped') {
    throw new AppError('agent_rollout.ended', { rolloutId });
  }
  await tx.agentRollout.updateMany({
    where: { id: rolloutId, organizationId },
    data: { state: 'cancelled', finishedAt: ctx.clock.now() },
  });
  await recordAudit(ctx, {
    action: 'agent_rollout.cancel',
    target: { kind: 'agent_rollout', id: rolloutId, label: parseOffers(rollout.offers)[0]?.version ?? '' },
    before: { state: rollout.state },
  });
  await notifyChange(ctx, { kind: 'agent_rollout', id: rolloutId });
  return { rolloutId };
}
