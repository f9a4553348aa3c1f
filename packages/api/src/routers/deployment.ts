// Owns the procedures of deployments and their logs.
import {
  approveDeployment,
  cancelDeployment,
  createDeployment,
  createDeploymentInputSchema,
  deploymentDetailSchema,
  deploymentPageSchema,
  deploymentRefSchema,
  deploySecrets,
  deploySecretsInputSchema,
  getDeployment,
  listDeployments,
  listDeploymentsInputSchema,
  pauseDeploys,
  pauseDeploysInputSchema,
  pauseDeploysOutputSchema,
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
import { AppError } from '@fairlead/core/kernel';
import { logPageSchema, readLog, readLogInputSchema } from '@fairlead/core/log';
import { memberProcedure, router } from '../ladder.ts';
import { byDeployment, byDeploymentTarget, byEnvironment, byPlacement, byRelease } from '../scopes.ts';

export const deploymentRouter = router({
  list: memberProcedure('deployment.read', { lists: 'environment' })
    .input(listDeploymentsInputSchema)
    .output(deploymentPageSchema)
    .query(({ ctx, input }) => listDeployments(ctx.core, input, ctx.access.reach('deployment.read'))),

  get: memberProcedure('deployment.read', { scope: byDeployment })
    .input(deploymentRefSchema)
    .output(deploymentDetailSchema)
    .query(({ ctx, input }) => getDeployment(ctx.core, input)),

  create: memberProcedure('deployment.write', { scope: byPlacement })
    .input(createDeploymentInputSchema)
    .output(deploymentRefSchema)
    .mutation(({ ctx, input }) => createDeployment(ctx.core, input)),

  redeploy: memberProcedure('deployment.write', { scope: byDeploymentTarget })
    .input(redeployInputSchema)
    .output(deploymentRefSchema)
    .mutation(({ ctx, input }) => redeploy(ctx.core, input)),

  retry: memberProcedure('deployment.write', { scope: byDeploymentTarget })
    .input(deploymentRefSchema)
    .output(deploymentRefSchema)
    .mutation(({ ctx, input }) => retryDeployment(ctx.core, input)),

  promote: memberProcedure('deployment.write', { scope: byEnvironment })
    .input(promoteReleaseInputSchema)
    .output(deploymentRefSchema)
    .mutation(async ({ ctx, input }) => {
      // Held where it goes to; where it comes from, the release must be theirs to see or to roll out.
      const source = (await byRelease.find(ctx.core, input)) ?? undefined;
      const { access } = ctx;
      if (!access.may('deployment.read', source) && !access.may('deployment.write', source)) {
        throw new AppError('permission.denied', { permission: 'deployment.read' });
      }
      return promoteRelease(ctx.core, input);
    }),

  pause: memberProcedure('deployment.write', { scope: byPlacement })
    .input(pauseDeploysInputSchema)
    .output(pauseDeploysOutputSchema)
    .mutation(({ ctx, input }) => pauseDeploys(ctx.core, input)),

  rollback: memberProcedure('deployment.write', { scope: byPlacement })
    .input(rollbackAppInputSchema)
    .output(deploymentRefSchema)
    .mutation(({ ctx, input }) => rollbackApp(ctx.core, input)),

  deploySecrets: memberProcedure('deployment.write', { scope: byPlacement })
    .input(deploySecretsInputSchema)
    .output(deploymentRefSchema)
    .mutation(({ ctx, input }) => deploySecrets(ctx.core, input)),

  restart: memberProcedure('deployment.write', { scope: byPlacement })
    .input(restartAppInputSchema)
    .output(deploymentRefSchema)
    .mutation(({ ctx, input }) => restartApp(ctx.core, input)),

  cancel: memberProcedure('deployment.write', { scope: byDeployment })
    .input(deploymentRefSchema)
    .output(deploymentRefSchema)
    .mutation(({ ctx, input }) => cancelDeployment(ctx.core, input)),

  approve: memberProcedure('deployment.approve', { scope: byDeployment })
    .input(deploymentRefSchema)
    .output(deploymentRefSchema)
    .mutation(({ ctx, input }) => approveDeployment(ctx.core, input)),

  refuse: memberProcedure('deployment.approve', { scope: byDeployment })
    .input(deploymentRefSchema)
    .output(deploymentRefSchema)
    .mutation(({ ctx, input }) => refuseDeployment(ctx.core, input)),

  log: memberProcedure('deployment.read', { scope: byDeployment })
    .input(readLogInputSchema)
    .output(logPageSchema)
    .query(({ ctx, input }) => readLog(ctx.core, input, ctx.logs)),
});
