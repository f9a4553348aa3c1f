// Owns the wish to deploy a ref.
import type { Ctx } from '../kernel/index.ts';
import type { CreateDeploymentInput, DeploymentRef } from './schema.ts';
import { requirePlacement, startDeployment } from './start-deployment.ts';

/** Deploys the newest commit of a ref; without one, of the branch the app follows. */
export async function createDeployment(ctx: Ctx, input: CreateDeploymentInput): Promise<DeploymentRef> {
  const { environmentId, serverId, branch } = await requirePlacement(ctx, input.appId);
  const deploymentId = await startDeployment(ctx, {
    appId: input.appId,
    environmentId,
    serverId,
    trigger: 'manual',
    ref: input.ref ?? branch,
    release: null,
  });
  return { deploymentId };
}
