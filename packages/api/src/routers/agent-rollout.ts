// Procedures of the upgrade of all agents in waves.
import {
  agentRolloutOverviewSchema,
  agentRolloutRefSchema,
  cancelAgentRollout,
  getAgentRollout,
  retryAgentRollout,
  startAgentRollout,
} from '@fairlead/core/agent-rollout';
import { memberProcedure, router } from '../procedures.ts';
import { approverOfServers, open } from '../protection.ts';
import { storeAgent } from '../store-agent.ts';

export const agentRolloutRouter = router({
  get: memberProcedure('server.read')
    .output(agentRolloutOverviewSchema)
    .query(async ({ ctx }) => getAgentRollout(ctx.core, await ctx.config.agentOffers.list())),

  start: memberProcedure('server.upgrade', { protection: approverOfServers })
    .output(agentRolloutRefSchema)
    .mutation(async ({ ctx }) => {
      const { rolloutId, offers } = await startAgentRollout(ctx.core, await ctx.config.agentOffers.list());
      for (const offer of offers) await storeAgent(ctx, offer);
      return { rolloutId };
    }),

  retry: memberProcedure('server.upgrade', { input: agentRolloutRefSchema, protection: approverOfServers })
    .output(agentRolloutRefSchema)
    .mutation(({ ctx, input }) => retryAgentRollout(ctx.core, input)),

  cancel: memberProcedure('server.upgrade', {
    input: agentRolloutRefSchema,
    protection: open('it starts no further upgrade'),
  })
    .output(agentRolloutRefSchema)
    .mutation(({ ctx, input }) => cancelAgentRollout(ctx.core, input)),
});
