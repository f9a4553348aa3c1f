// Owns the procedures of apps: schema in, verb called, schema out.
import {
  appDetailSchema,
  appIdentitySchema,
  appPageSchema,
  attachServer,
  attachServerInputSchema,
  createApp,
  createAppInputSchema,
  createAppOutputSchema,
  deleteApp,
  deleteAppInputSchema,
  detachEnvironment,
  detachEnvironmentInputSchema,
  detachServer,
  detachServerInputSchema,
  getApp,
  getAppInputSchema,
  listApps,
  listAppsInputSchema,
  placedServerSchema,
  placeRefSchema,
  scaleApp,
  scaleAppInputSchema,
  updateApp,
  updateAppInputSchema,
} from '@fairlead/core/app';
import { deleteLogs, listAppLogs } from '@fairlead/core/log';
import { memberProcedure, router } from '../ladder.ts';
import { byApp, byEnvironmentOfApp, byPlacement, bySeenPlacement } from '../scopes.ts';

export const appRouter = router({
  list: memberProcedure('app.read', { lists: 'environment' })
    .input(listAppsInputSchema)
    .output(appPageSchema)
    .query(({ ctx, input }) => listApps(ctx.core, input, ctx.config, ctx.access.reach('app.read'))),

  get: memberProcedure('app.read', { scope: bySeenPlacement })
    .input(getAppInputSchema)
    .output(appDetailSchema)
    .query(({ ctx, input }) => getApp(ctx.core, input, ctx.config, ctx.access.reach('app.read'))),

  create: memberProcedure('app.write')
    .input(createAppInputSchema)
    .output(createAppOutputSchema)
    .mutation(({ ctx, input }) => createApp(ctx.core, input, ctx.config, ctx.access.reach('domain.write'))),

  update: memberProcedure('app.write', { scope: byApp })
    .input(updateAppInputSchema)
    .output(appIdentitySchema)
    .mutation(({ ctx, input }) => updateApp(ctx.core, input)),

  scale: memberProcedure('app.write', { scope: byPlacement })
    .input(scaleAppInputSchema)
    .output(appIdentitySchema)
    .mutation(({ ctx, input }) => scaleApp(ctx.core, input)),

  attachServer: memberProcedure('app.write', { scope: byEnvironmentOfApp })
    .input(attachServerInputSchema)
    .output(placedServerSchema)
    .mutation(({ ctx, input }) => attachServer(ctx.core, input)),

  detachServer: memberProcedure('app.write', { scope: byPlacement })
    .input(detachServerInputSchema)
    .output(placedServerSchema)
    .mutation(({ ctx, input }) => detachServer(ctx.core, input)),

  detachEnvironment: memberProcedure('app.delete', { scope: byPlacement })
    .input(detachEnvironmentInputSchema)
    .output(placeRefSchema)
    .mutation(({ ctx, input }) => detachEnvironment(ctx.core, input)),

  delete: memberProcedure('app.delete', { scope: byApp })
    .input(deleteAppInputSchema)
    .output(appIdentitySchema)
    .mutation(async ({ ctx, input }) => {
      const objectKeys = await listAppLogs(ctx.core, input);
      const deleted = await deleteApp(ctx.core, input);
      ctx.afterCommit(() => deleteLogs(ctx.logs, objectKeys));
      return deleted;
    }),
});
