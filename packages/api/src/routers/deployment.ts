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
  redeploy,
  refuseDeployment,
  restartApp,
  restartAppInputSchema,
  rollbackApp,
  rollbackAppInputSchema,
} from '@fairlead/core/deployment';
import { logPageSchema, readLog, readLogInputSchema } from '@fairlead/core/log';
import { memberProcedure, router } from '../ladder.ts';
import { byDeployment, byDeploymentTarget, byPlacement } from '../scopes.ts';

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
    .input(deploymentRefSchema)
    .output(deploymentRefSchema)
    .mutation(({ ctx, input }) => redeploy(ctx.core, input)),

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
