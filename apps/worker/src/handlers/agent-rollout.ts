// Jobs of agent rollouts.
import { advanceAgentRollout, listRunningRollouts } from '@fairlead/core/agent-rollout';
import type { Handler } from './handler.ts';

export const advanceAgentRolloutsHandler: Handler<'agent_rollout.advance'> = async ({ database, clock, log }) => {
  const running = await database.system('agent_rollout.advance', (tx) => listRunningRollouts({ tx, clock, log }));
  for (const { organizationId, rolloutId } of running) {
    try {
      await database.tenant(organizationId, (tx) => {
        const actor = { kind: 'system', reason: 'agent_rollout.advance' } as const;
        return advanceAgentRollout({ tx, organizationId, actor, clock, log }, { rolloutId });
      });
    } catch (error) {
      // One organization's rollout must not block the others; the next run resumes it.
      log.error({ err: error, organizationId, rolloutId }, 'an agent rollout could not advance for now');
    }
  }
};
