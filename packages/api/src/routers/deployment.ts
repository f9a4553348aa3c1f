// Procedures of deployments and their logs.

import {
  approveDeployment,
  cancelDeployment,
  createDeployment,
  createDeploymentInputSchema,
  deploymentDetailSchema,
  deploymentFiltersSchema,
  deploymentPageSchema,
  deploymentRefSchema,
  deploySecrets,
  deploySecretsInputSchema,
  getDeployment,
  listDeploymentFilters,
  listDeployments,
  listDeploymentsInputSchema,
  promoteRelease,
  promoteReleaseInputSchema,
  redeploy,
  redeployInputSchema,
  refuseDeployment,
  restartApp,
  restartAppInputSchema,
  retryDeployment,
  rollbackApp,
  rollbackAppInputSchema,
} from '@fairlead/core/deployment';
import { logPageSchema, readLog, readLogInputSchema } from '@fairlead/core/log';
import { pauseDeploys, pauseDeploysInputSchema, pauseDeploysOutputSchema } from '@fairlead/core/placement';
import { findAttention } from '../attention.ts';
import { promoteRules, redeployRules, retryRules, rollbackRules } from '../deployment-rules.ts';
import { keepsNetworkOpen } from '../network.ts';
import { memberProcedure, router } from '../procedures.ts';
import { approverIn, approverOfRunning, open, waitsForApproval } from '../protection.ts';
import { byDeployment, byPlacement } from '../scopes.ts';

export const deploymentRouter = router({
  list: memberProcedure('deployment.read', { input: listDeploymentsInputSchema, lists: 'environment' })
    .output(deploymentPageSchema)
    .query(async ({ ctx, input }) =>
      listDeployments(ctx.core, input, ctx.access.reach('deployment.read'), await findAttention(ctx, input.attention)),
    ),

  listFilters: memberProcedure('deployment.read', { lists: 'environment' })
    .output(deploymentFiltersSchema)
    .query(({ ctx }) => listDeploymentFilters(ctx.core, ctx.access.reach('deployment.read'))),

  get: memberProcedure('deployment.read', { input: deploymentRefSchema, scope: byDeployment })
    .output(deploymentDetailSchema)
    .query(({ ctx, input }) =>
      getDeployment(ctx.core, input, ctx.config.buildSlots, ctx.access.reach('deployment.read')),
    ),

  create: memberProcedure('deployment.write', {
    input: createDeploymentInputSchema,
    scope: byPlacement,
    protection: waitsForApproval,
  })
    .output(deploymentRefSchema)
    .mutation(({ ctx, input }) => createDeployment(ctx.core, input)),

  redeploy: memberProcedure('deployment.write', {
    input: redeployInputSchema,
    ...redeployRules,
  })
    .output(deploymentRefSchema)
    .mutation(({ ctx, input }) => redeploy(ctx.core, input)),

  retry: memberProcedure('deployment.write', {
    input: deploymentRefSchema,
    ...retryRules,
  })
    .output(deploymentRefSchema)
    .mutation(({ ctx, input }) => retryDeployment(ctx.core, input)),

  promote: memberProcedure('deployment.write', {
    input: promoteReleaseInputSchema,
    ...promoteRules,
  })
    .output(deploymentRefSchema)
    .mutation(({ ctx, input }) => promoteRelease(ctx.core, input)),

  pause: memberProcedure('deployment.write', {
    input: pauseDeploysInputSchema,
    scope: byPlacement,
    protection: approverIn(byPlacement),
  })
    .output(pauseDeploysOutputSchema)
    .mutation(({ ctx, input }) => pauseDeploys(ctx.core, input)),

  rollback: memberProcedure('deployment.write', {
    input: rollbackAppInputSchema,
    ...rollbackRules,
  })
    .output(deploymentRefSchema)
    .mutation(({ ctx, input }) => rollbackApp(ctx.core, input)),

  deploySecrets: memberProcedure('deployment.write', {
    input: deploySecretsInputSchema,
    scope: byPlacement,
    also: keepsNetworkOpen,
    protection: waitsForApproval,
  })
    .output(deploymentRefSchema)
    .mutation(({ ctx, input }) => deploySecrets(ctx.core, input)),

  restart: memberProcedure('deployment.write', {
    input: restartAppInputSchema,
    scope: byPlacement,
    also: keepsNetworkOpen,
    protection: waitsForApproval,
  })
    .output(deploymentRefSchema)
    .mutation(({ ctx, input }) => restartApp(ctx.core, input)),

  cancel: memberProcedure('deployment.write', {
    input: deploymentRefSchema,
    scope: byDeployment,
    protection: approverOfRunning,
  })
    .output(deploymentRefSchema)
    .mutation(({ ctx, input }) => cancelDeployment(ctx.core, input)),

  approve: memberProcedure('deployment.approve', {
    input: deploymentRefSchema,
    scope: byDeployment,
    fresh: true,
    protection: open('it is the approval'),
  })
    .output(deploymentRefSchema)
    .mutation(({ ctx, input }) => approveDeployment(ctx.core, input)),

  refuse: memberProcedure('deployment.approve', {
    input: deploymentRefSchema,
    scope: byDeployment,
    protection: open('it is the rejection'),
  })
    .output(deploymentRefSchema)
    .mutation(({ ctx, input }) => refuseDeployment(ctx.core, input)),

  log: memberProcedure('deployment.read', { input: readLogInputSchema, scope: byDeployment })
    .output(logPageSchema)
    .query(({ ctx, input }) => readLog(ctx.core, input, ctx.logs)),
});
