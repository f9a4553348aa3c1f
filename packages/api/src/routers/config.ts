// Procedures of an app's settings in one environment.

import { restoreConfig, updateConfig } from '@fairlead/core/app';
import {
  configPageSchema,
  configRefSchema,
  configSchema,
  configVersionInputSchema,
  configVersionSchema,
  getConfig,
  getConfigVersion,
  listConfigs,
  listConfigsInputSchema,
  restoreConfigInputSchema,
  restoredConfigSchema,
  updateConfigInputSchema,
} from '@fairlead/core/config';
import { placementInputSchema } from '@fairlead/core/placement';
import { changesNetwork, restoresNetwork } from '../network.ts';
import { memberProcedure, router } from '../procedures.ts';
import { approverIn } from '../protection.ts';
import { byPlacement } from '../scopes.ts';

export const configRouter = router({
  get: memberProcedure('app.read', { input: placementInputSchema, scope: byPlacement })
    .output(configSchema)
    .query(({ ctx, input }) => getConfig(ctx.core, input)),

  list: memberProcedure('app.read', { input: listConfigsInputSchema, scope: byPlacement })
    .output(configPageSchema)
    .query(({ ctx, input }) => listConfigs(ctx.core, input)),

  getVersion: memberProcedure('app.read', { input: configVersionInputSchema, scope: byPlacement })
    .output(configVersionSchema)
    .query(({ ctx, input }) => getConfigVersion(ctx.core, input)),

  update: memberProcedure('app.write', {
    input: updateConfigInputSchema,
    scope: byPlacement,
    also: changesNetwork,
    protection: approverIn(byPlacement),
  })
    .output(configRefSchema)
    .mutation(({ ctx, input }) => updateConfig(ctx.core, input)),

  restore: memberProcedure('app.write', {
    input: restoreConfigInputSchema,
    scope: byPlacement,
    also: restoresNetwork,
    protection: approverIn(byPlacement),
  })
    .output(restoredConfigSchema)
    .mutation(({ ctx, input }) => restoreConfig(ctx.core, input)),
});
