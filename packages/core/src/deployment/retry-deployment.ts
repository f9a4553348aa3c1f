// Retries a failed deployment.

import { AppError, type Ctx } from '../kernel/index.ts';
import { requirePlacement } from '../placement/index.ts';
import { originSchema } from '../release/index.ts';
import type { RequiredChecks } from './check-wait.ts';
import { type DeploymentRef, deploymentStateSchema } from './schema.ts';
import { startDeployment } from './start-deployment.ts';

/**
 * Rolls out the failed deployment's build again, or repeats the build if there was none. `checks`: what it waits
 * for first. Throws deployment.not_retryable.
 */
export async function retryDeployment(ctx: Ctx, input: DeploymentRef, checks?: RequiredChecks): Promise<DeploymentRef> {
  const { deploymentId } = input;
  const { organizationId } = ctx;
  const old = await ctx.tx.deployment.findFirst({
    where: { id: deploymentId, organizationId },
    select: {
      appId: true,
      environmentId: true,
      state: true,
      ref: true,
      commitHash: true,
      commitSubject: true,
      commitAuthor: true,
      uploadDigest: true,
      origin: true,
      withoutCache: true,
      release: { select: { id: true, commitHash: true, commitSubject: true, commitAuthor: true } },
    },
  });
  if (old === null) throw new AppError('deployment.not_found', { deploymentId });
  const state = deploymentStateSchema.parse(old.state);
  if (state !== 'failed' && state !== 'cancelled') {
    throw new AppError('deployment.not_retryable', { deploymentId, state });
  }
  const { appId, uploadDigest } = old;
  const { environmentId, serverId } = await requirePlacement(ctx, old);
  const started = await startDeployment(ctx, {
    appId,
    environmentId,
    serverId,
    trigger: 'retry',
    ref: uploadDigest === null ? (old.commitHash ?? old.ref) : old.ref,
    branch: originSchema.parse(old.origin).branch,
    release: old.release,
    commit:
      old.commitHash === null
        ? undefined
        : { hash: old.commitHash, subject: old.commitSubject ?? '', author: old.commitAuthor ?? '' },
    uploadDigest: uploadDigest ?? undefined,
    withoutCache: old.withoutCache,
    checks,
  });
  return { deploymentId: started };
}
