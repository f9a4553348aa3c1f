// Owns the procedures of environments.
import {
  createEnvironment,
  createEnvironmentInputSchema,
  environmentListSchema,
  environmentRefSchema,
  listEnvironments,
  updateEnvironment,
  updateEnvironmentInputSchema,
} from '@fairlead/core/environment';
import { memberProcedure, router } from '../ladder.ts';
import { byEnvironment } from '../scopes.ts';

export const environmentRouter = router({
  list: memberProcedure('app.read', { lists: 'environment' })
    .output(environmentListSchema)
    .query(({ ctx }) => listEnvironments(ctx.core, ctx.access.reach('app.read'))),

  create: memberProcedure('environment.write')
    .input(createEnvironmentInputSchema)
    .output(environmentRefSchema)
    .mutation(({ ctx, input }) => createEnvironment(ctx.core, input)),

  update: memberProcedure('environment.write', { scope: byEnvironment })
    .input(updateEnvironmentInputSchema)
    .output(environmentRefSchema)
    .mutation(({ ctx, input }) => updateEnvironment(ctx.core, input)),
});
