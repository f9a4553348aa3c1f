// Redeploys: builds and rolls out the same ref again.

import { AppError, type Ctx } from '../kernel/index.ts';
import { requirePlacement } from '../placement/index.ts';
import { originSchema } from '../release/index.ts';
import type { RequiredChecks } from './check-wait.ts';
import type { DeploymentRef, RedeployInput } from './schema.ts';
import { startDeployment } from './start-deployment.ts';

/** Builds and rolls out the same commit or folder again; the same ref if it never got as far as a commit. `checks`: what it waits for first. */
export async function redeploy(ctx: Ctx, input: RedeployInput, checks?: RequiredChecks): Promise<DeploymentRef> {
  const old = await ctx.tx.deployment.findFirst({
    where: { id: input.deploymentId, organizationId: ctx.organizationId },
    select: { appId: true, environmentId: true, ref: true, commitHash: true, uploadDigest: true, origin: true },
  });
  if (old === null) throw new AppError('deployment.not_found', { deploymentId: input.deploymentId });
  const { appId, uploadDigest } = old;
  const { environmentId, serverId } = await requirePlacement(ctx, old);
  const deploymentId = await startDeployment(ctx, {
    appId,
    environmentId,
    serverId,
    trigger: 'redeploy',
    ref: uploadDigest === null ? (old.commitHash ?? old.ref) : old.ref,
    branch: originSchema.parse(old.origin).branch,
    release: null,
    uploadDigest: uploadDigest ?? undefined,
    withoutCache: input.withoutCache,
    checks,
  });
  return { deploymentId };
}
