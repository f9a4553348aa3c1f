// Owns the procedure of the first page.
import { getOverview, overviewSchema } from '@fairlead/core/overview';
import { memberProcedure, router } from '../ladder.ts';

export const overviewRouter = router({
  get: memberProcedure('app.read')
    .output(overviewSchema)
    .query(({ ctx }) =>
      getOverview(ctx.core, ctx.config, {
        servers: ctx.access.may('server.read'),
        deployments: ctx.access.may('deployment.read'),
      }),
    ),
});
