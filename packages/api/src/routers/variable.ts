// Procedures of environment variables: plain ones with their values, and writes that set plain ones and secrets at once.
import { placementInputSchema } from '@fairlead/core/placement';
import {
  copyVariables,
  copyVariablesInputSchema,
  listVariables,
  updatedVariablesSchema,
  updateVariables,
  updateVariablesInputSchema,
  variableListSchema,
} from '@fairlead/core/variable';
import { memberProcedure, router } from '../procedures.ts';
import { approverIn } from '../protection.ts';
import { byPlacement, copiesVariables, setsSecrets } from '../scopes.ts';

export const variableRouter = router({
  list: memberProcedure('app.read', { input: placementInputSchema, scope: byPlacement })
    .output(variableListSchema)
    .query(({ ctx, input }) => listVariables(ctx.core, input)),

  update: memberProcedure('app.write', {
    input: updateVariablesInputSchema,
    scope: byPlacement,
    also: setsSecrets,
    protection: approverIn(byPlacement),
  })
    .output(updatedVariablesSchema)
    .mutation(({ ctx, input }) => updateVariables(ctx.core, input, ctx.secretKeys)),

  copy: memberProcedure('app.write', {
    input: copyVariablesInputSchema,
    scope: byPlacement,
    also: copiesVariables,
    protection: approverIn(byPlacement),
  })
    .output(updatedVariablesSchema)
    .mutation(({ ctx, input }) => copyVariables(ctx.core, input, ctx.secretKeys)),
});
