// Owns the procedures of deployments and their logs.
import {
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
  rollbackApp,
  rollbackAppInputSchema,
} from '@fairlead/core/deployment';
import { logPageSchema, readLog, readLogInputSchema } from '@fairlead/core/log';
import { memberProcedure, router } from '../ladder.ts';

export const deploymentRouter = router({
  list: memberProcedure('deployment.read')
    .input(listDeploymentsInputSchema)
    .output(deploymentPageSchema)
    .query(({ ctx, input }) => listDeployments(ctx.core, input)),

  get: memberProcedure('deployment.read')
    .input(deploymentRefSchema)
    .output(deploymentDetailSchema)
    .query(({ ctx, input }) => getDeployment(ctx.core, input)),

  create: memberProcedure('deployment.write')
    .input(createDeploymentInputSchema)
    .output(deploymentRefSchema)
    .mutation(({ ctx, input }) => createDeployment(ctx.core, input)),

  redeploy: memberProcedure('deployment.write')
    .input(deploymentRefSchema)
    .output(deploymentRefSchema)
    .mutation(({ ctx, input }) => redeploy(ctx.core, input)),

  rollback: memberProcedure('deployment.write')
    .input(rollbackAppInputSchema)
    .output(deploymentRefSchema)
    .mutation(({ ctx, input }) => rollbackApp(ctx.core, input)),

  deploySecrets: memberProcedure('deployment.write')
    .input(deploySecretsInputSchema)
    .output(deploymentRefSchema)
    .mutation(({ ctx, input }) => deploySecrets(ctx.core, input)),

  cancel: memberProcedure('deployment.write')
    .input(deploymentRefSchema)
    .output(deploymentRefSchema)
    .mutation(({ ctx, input }) => cancelDeployment(ctx.core, input)),

  log: memberProcedure('deployment.read')
    .input(readLogInputSchema)
    .output(logPageSchema)
    .query(({ ctx, input }) => readLog(ctx.core, input, ctx.logs)),
});
