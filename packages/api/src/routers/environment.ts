// Procedures of environments.
import {
  createEnvironment,
  createEnvironmentInputSchema,
  deleteEnvironment,
  deleteEnvironmentInputSchema,
  environmentListSchema,
  environmentRefSchema,
  listEnvironments,
  updateEnvironment,
  updateEnvironmentInputSchema,
} from '@fairlead/core/environment';
import { deleteLogs, listEnvironmentLogs } from '@fairlead/core/log';
import { memberProcedure, router } from '../procedures.ts';
import { approverIn, open } from '../protection.ts';
import { byEnvironment } from '../scopes.ts';

export const environmentRouter = router({
  list: memberProcedure('app.read', { lists: 'environment' })
    .output(environmentListSchema)
    .query(({ ctx }) => listEnvironments(ctx.core, ctx.access.reach('app.read'))),

  create: memberProcedure('environment.write', {
    input: createEnvironmentInputSchema,
    protection: open('a new environment has no visitors'),
  })
    .output(environmentRefSchema)
    .mutation(({ ctx, input }) => createEnvironment(ctx.core, input)),

  update: memberProcedure('environment.write', {
    input: updateEnvironmentInputSchema,
    scope: byEnvironment,
    fresh: true,
    protection: approverIn(byEnvironment),
  })
    .output(environmentRefSchema)
    .mutation(({ ctx, input }) => updateEnvironment(ctx.core, input)),

  delete: memberProcedure('environment.write', {
    input: deleteEnvironmentInputSchema,
    scope: byEnvironment,
    protection: approverIn(byEnvironment),
  })
    .output(environmentRefSchema)
    .mutation(async ({ ctx, input }) => {
      const objectKeys = await listEnvironmentLogs(ctx.core, input);
      const deleted = await deleteEnvironment(ctx.core, input);
      ctx.afterCommit(() => deleteLogs(ctx.logs, objectKeys));
      return deleted;
    }),
});
