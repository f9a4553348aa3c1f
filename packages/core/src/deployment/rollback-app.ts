// Rolls an app back to an older release.

import { AppError, type Ctx } from '../kernel/index.ts';
import { requirePlacement } from '../placement/index.ts';
import type { DeploymentRef, RollbackAppInput } from './schema.ts';
import { startDeployment } from './start-deployment.ts';

/** Rolls an older release out again, without a build: its artifact, its settings and its secrets, as they were then. */
export async function rollbackApp(ctx: Ctx, input: RollbackAppInput): Promise<DeploymentRef> {
  const { appId, releaseId } = input;
  const { environmentId, serverId, liveReleaseId } = await requirePlacement(ctx, {
    appId,
    environmentId: input.environmentId,
  });
  const release = await ctx.tx.release.findFirst({
    where: { id: releaseId, appId, organizationId: ctx.organizationId },
    select: { id: true, environmentId: true, commitHash: true, commitSubject: true, commitAuthor: true },
  });
  if (release === null) throw new AppError('release.not_found', { releaseId });
  if (release.environmentId !== environmentId) throw new AppError('release.other_environment', { releaseId });
  if (release.id === liveReleaseId) throw new AppError('release.already_live', { releaseId });
  const deploymentId = await startDeployment(ctx, {
    appId,
    environmentId,
    serverId,
    trigger: 'rollback',
    ref: release.commitHash,
    release,
  });
  return { deploymentId };
}
