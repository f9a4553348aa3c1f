// Owns the wish to build and roll out the same again.
import { AppError, type Ctx } from '../kernel/index.ts';
import type { DeploymentRef } from './schema.ts';
import { requirePlacement, startDeployment } from './start-deployment.ts';

/** Builds and rolls out the same commit again; the same ref if it never got as far as a commit. */
export async function redeploy(ctx: Ctx, input: DeploymentRef): Promise<DeploymentRef> {
  const old = await ctx.tx.deployment.findFirst({
    where: { id: input.deploymentId, organizationId: ctx.organizationId },
    select: { appId: true, ref: true, commitHash: true },
  });
  if (old === null) throw new AppError('deployment.not_found', { deploymentId: input.deploymentId });
  const { environmentId, serverId } = await requirePlacement(ctx, old.appId);
  const deploymentId = await startDeployment(ctx, {
    appId: old.appId,
    environmentId,
    serverId,
    trigger: 'redeploy',
    ref: old.commitHash ?? old.ref,
    release: null,
  });
  return { deploymentId };
}
