// Procedures of pushes: deliveries of webhooks, decisions about them, and the rules of an app.
import { placementInputSchema, placementRefSchema } from '@fairlead/core/placement';
import {
  deliveryDetailSchema,
  deliveryPageSchema,
  deliveryRefSchema,
  findAppSource,
  getDelivery,
  getPushRules,
  listDeliveries,
  listDeliveriesInputSchema,
  pushRulesSchema,
  retriedPushSchema,
  retryPush,
  retryPushInputSchema,
  suggestedPathsSchema,
  updatePushRules,
  updatePushRulesInputSchema,
} from '@fairlead/core/push';
import { memberProcedure, memberRequest, router } from '../procedures.ts';
import { approverIn, waitsForApproval } from '../protection.ts';
import { byDelivery, byPlacement } from '../scopes.ts';
import { suggestPaths } from '../suggest-paths.ts';

export const pushRouter = router({
  list: memberProcedure('deployment.read', { input: listDeliveriesInputSchema, lists: 'environment' })
    .output(deliveryPageSchema)
    .query(({ ctx, input }) => listDeliveries(ctx.core, input, ctx.access.reach('deployment.read'))),

  get: memberProcedure('deployment.read', { input: deliveryRefSchema, scope: byDelivery })
    .output(deliveryDetailSchema)
    .query(({ ctx, input }) => getDelivery(ctx.core, input, ctx.access.reach('deployment.read'))),

  retry: memberProcedure('deployment.write', {
    input: retryPushInputSchema,
    scope: byPlacement,
    protection: waitsForApproval,
  })
    .output(retriedPushSchema)
    .mutation(({ ctx, input }) => retryPush(ctx.core, input)),

  getRules: memberProcedure('app.read', { input: placementInputSchema, scope: byPlacement })
    .output(pushRulesSchema)
    .query(({ ctx, input }) => getPushRules(ctx.core, input)),

  /** Reads the workspace manifests of the app's repository at GitHub. */
  suggestPaths: memberRequest('app.write', {
    input: placementInputSchema,
    scope: byPlacement,
    prepare: (core, input, ctx) => findAppSource(core, input, ctx.secretKeys),
  })
    .output(suggestedPathsSchema)
    .query(async ({ ctx }) => ({
      watchPaths: ctx.prepared === null ? [] : await suggestPaths(ctx.github, ctx.prepared),
    })),

  updateRules: memberProcedure('app.write', {
    input: updatePushRulesInputSchema,
    scope: byPlacement,
    protection: approverIn(byPlacement),
  })
    .output(placementRefSchema)
    .mutation(({ ctx, input }) => updatePushRules(ctx.core, input)),
});
