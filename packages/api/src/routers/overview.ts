// Procedures of the overview page.
import {
  acknowledgeAttention,
  acknowledgeAttentionInputSchema,
  acknowledgeAttentionOutputSchema,
  closeChecklist,
  restoreAttention,
} from '@fairlead/core/attention';
import { getOverview, getOverviewInputSchema, overviewSchema } from '@fairlead/core/overview';
import { z } from 'zod';
import { isOperator } from '../access.ts';
import { attentionReach, attentionScope } from '../attention.ts';
import { memberProcedure, ownViewProcedure, router } from '../procedures.ts';

export const overviewRouter = router({
  get: memberProcedure('app.read', { input: getOverviewInputSchema, lists: 'environment' })
    .output(overviewSchema)
    .query(async ({ ctx, input }) => {
      const { access, config } = ctx;
      const { backups, mail } = config.controlPlane;
      return getOverview(ctx.core, input, {
        links: config,
        buildSlots: config.buildSlots,
        reach: { ...attentionReach(access), metrics: access.reach('metric.read') },
        checklist: {
          deploy: access.may('deployment.write'),
          domain: access.may('domain.write'),
          invite: access.may('member.invite'),
          server: access.may('server.enrol'),
          operator: (await isOperator(ctx, access))
            ? { hasBackups: backups.folder !== null, hasMail: mail !== null }
            : null,
        },
      });
    }),

  /** Hides entries for the caller until they change. */
  acknowledge: ownViewProcedure
    .input(acknowledgeAttentionInputSchema)
    .output(acknowledgeAttentionOutputSchema)
    .mutation(({ ctx, input }) => acknowledgeAttention(ctx.core, input, attentionScope(ctx))),

  /** Shows acknowledged entries again. */
  restore: ownViewProcedure
    .input(acknowledgeAttentionInputSchema)
    .output(acknowledgeAttentionOutputSchema)
    .mutation(({ ctx, input }) => restoreAttention(ctx.core, input, attentionScope(ctx))),

  /** Hides the first-run checklist for the caller. */
  closeChecklist: ownViewProcedure.output(z.object({})).mutation(({ ctx }) => closeChecklist(ctx.core)),
});
