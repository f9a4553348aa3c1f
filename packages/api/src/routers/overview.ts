// Procedure of the overview page.
import { getOverview, getOverviewInputSchema, overviewSchema } from '@fairlead/core/overview';
import { memberProcedure, router } from '../procedures.ts';

export const overviewRouter = router({
  get: memberProcedure('app.read', { input: getOverviewInputSchema, lists: 'environment' })
    .output(overviewSchema)
    .query(({ ctx, input }) =>
      getOverview(ctx.core, input, ctx.config, {
        apps: ctx.access.reach('app.read'),
        deployments: ctx.access.reach('deployment.read'),
        secrets: ctx.access.reach('secret.read'),
        servers: ctx.access.may('server.read'),
      }),
    ),
});
