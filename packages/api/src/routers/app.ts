// Procedures of apps.

import {
  addEnvironment,
  addEnvironmentInputSchema,
  addedEnvironmentSchema,
  appDetailSchema,
  appIdentitySchema,
  appMoveSchema,
  appPageSchema,
  appRefSchema,
  createApp,
  createAppInputSchema,
  createAppOutputSchema,
  deleteApp,
  deleteAppInputSchema,
  deleteAppOutputSchema,
  deletedAppListSchema,
  detachEnvironment,
  detachEnvironmentInputSchema,
  getApp,
  getAppInputSchema,
  getAppMove,
  getAppMoveInputSchema,
  listApps,
  listAppsInputSchema,
  listDeletedApps,
  moveApp,
  moveAppInputSchema,
  purgeDeletedApp,
  restoreApp,
  updateApp,
  updateAppInputSchema,
} from '@fairlead/core/app';
import { deleteLogs } from '@fairlead/core/log';
import {
  attachServer,
  detachServer,
  moveServer,
  placementRefSchema,
  placementServerInputSchema,
  placementServerRefSchema,
  scaleApp,
  scaleAppInputSchema,
} from '@fairlead/core/placement';
import { findAttention } from '../attention.ts';
import { opensAnotherServer } from '../network.ts';
import {
  approverOfAddedEnvironment,
  approverOfNewApp,
  byAddedEnvironment,
  partsOfAddedEnvironment,
  partsOfNewApp,
} from '../new-app.ts';
import { memberProcedure, router } from '../procedures.ts';
import { approverIn, approverOfApp, approverOfAppChange, approverOfDeletedApp, approverOfMove } from '../protection.ts';
import { byApp, byAppAndProject, byDeletedApp, byPlacement, bySeenPlacement, runsMovedApp } from '../scopes.ts';
import { withTemplateUpload } from '../template-upload.ts';

export const appRouter = router({
  list: memberProcedure('app.read', { input: listAppsInputSchema, lists: 'environment' })
    .output(appPageSchema)
    .query(async ({ ctx, input }) =>
      listApps(ctx.core, input, ctx.config, ctx.access.reach('app.read'), await findAttention(ctx, input.attention)),
    ),

  get: memberProcedure('app.read', { input: getAppInputSchema, scope: bySeenPlacement })
    .output(appDetailSchema)
    .query(({ ctx, input }) => getApp(ctx.core, input, ctx.config, ctx.access.reach('app.read'))),

  create: memberProcedure('app.write', {
    input: createAppInputSchema,
    also: partsOfNewApp,
    protection: approverOfNewApp,
  })
    .output(createAppOutputSchema)
    .mutation(async ({ ctx, input }) =>
      createApp(ctx.core, await withTemplateUpload(ctx, input), {
        hosts: ctx.config,
        keys: ctx.secretKeys,
        reach: ctx.access.reach('domain.write'),
      }),
    ),

  addEnvironment: memberProcedure('app.write', {
    input: addEnvironmentInputSchema,
    scope: byAddedEnvironment,
    also: partsOfAddedEnvironment,
    protection: approverOfAddedEnvironment,
  })
    .output(addedEnvironmentSchema)
    .mutation(({ ctx, input }) => addEnvironment(ctx.core, input, ctx.config, ctx.access.reach('domain.write'))),

  update: memberProcedure('app.write', { input: updateAppInputSchema, scope: byApp, protection: approverOfAppChange })
    .output(appIdentitySchema)
    .mutation(({ ctx, input }) => updateApp(ctx.core, input)),

  scale: memberProcedure('app.write', {
    input: scaleAppInputSchema,
    scope: byPlacement,
    protection: approverIn(byPlacement),
  })
    .output(placementRefSchema)
    .mutation(({ ctx, input }) => scaleApp(ctx.core, input)),

  attachServer: memberProcedure('app.write', {
    input: placementServerInputSchema,
    scope: byPlacement,
    also: opensAnotherServer,
    protection: approverIn(byPlacement),
  })
    .output(placementServerRefSchema)
    .mutation(({ ctx, input }) => attachServer(ctx.core, input)),

  moveServer: memberProcedure('app.write', {
    input: placementServerInputSchema,
    scope: byPlacement,
    protection: approverIn(byPlacement),
  })
    .output(placementServerRefSchema)
    .mutation(({ ctx, input }) => moveServer(ctx.core, input)),

  detachServer: memberProcedure('app.write', {
    input: placementServerInputSchema,
    scope: byPlacement,
    protection: approverIn(byPlacement),
  })
    .output(placementServerRefSchema)
    .mutation(({ ctx, input }) => detachServer(ctx.core, input)),

  detachEnvironment: memberProcedure('app.delete', {
    input: detachEnvironmentInputSchema,
    scope: byPlacement,
    protection: approverIn(byPlacement),
  })
    .output(placementRefSchema)
    .mutation(({ ctx, input }) => detachEnvironment(ctx.core, input)),

  getMove: memberProcedure('project.write', { input: getAppMoveInputSchema, scope: byApp })
    .output(appMoveSchema)
    .query(({ ctx, input }) => getAppMove(ctx.core, input)),

  move: memberProcedure('project.write', {
    input: moveAppInputSchema,
    scope: byAppAndProject,
    also: runsMovedApp,
    movesApp: true,
    fresh: true,
    protection: approverOfMove,
  })
    .output(appIdentitySchema)
    .mutation(({ ctx, input }) => moveApp(ctx.core, input, ctx.access.rights)),

  delete: memberProcedure('app.delete', { input: deleteAppInputSchema, scope: byApp, protection: approverOfApp })
    .output(deleteAppOutputSchema)
    .mutation(({ ctx, input }) => deleteApp(ctx.core, input)),

  listDeleted: memberProcedure('app.delete', { lists: 'project' })
    .output(deletedAppListSchema)
    .query(({ ctx }) => listDeletedApps(ctx.core, ctx.access.reach('app.delete'))),

  restore: memberProcedure('app.delete', {
    input: appRefSchema,
    scope: byDeletedApp,
    protection: approverOfDeletedApp,
  })
    .output(appIdentitySchema)
    .mutation(({ ctx, input }) => restoreApp(ctx.core, input)),

  purge: memberProcedure('app.delete', {
    input: deleteAppInputSchema,
    scope: byDeletedApp,
    fresh: true,
    protection: approverOfDeletedApp,
  })
    .output(appIdentitySchema)
    .mutation(async ({ ctx, input }) => {
      const { objectKeys, ...purged } = await purgeDeletedApp(ctx.core, input);
      ctx.afterCommit(() => deleteLogs(ctx.logs, objectKeys));
      return purged;
    }),
});
