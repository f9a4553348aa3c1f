// Deploys the live release with the newest secrets, without a build.

import { newId } from '@fairlead/contract/ids';
import { AppError, type Ctx } from '../kernel/index.ts';
import { lockApps, requirePlacement } from '../placement/index.ts';
import { createSnapshot } from '../secret/index.ts';
import { copyRelease } from './copy-release.ts';
import type { DeploymentRef, DeploySecretsInput } from './schema.ts';
import { requireNothingAhead, startDeployment } from './start-deployment.ts';

/**
 * Rolls out like every other deployment: started beside the old release, switched to when healthy. Refused while a
 * deployment waits or runs, because the copied settings would replace its newer ones.
 */
export async function deploySecrets(ctx: Ctx, input: DeploySecretsInput): Promise<DeploymentRef> {
  const { appId } = input;
  await lockApps(ctx, [appId]);
  const { environmentId, serverId, liveReleaseId } = await requirePlacement(ctx, {
    appId,
    environmentId: input.environmentId,
  });
  if (liveReleaseId === null) throw new AppError('app.not_live', { appId });
  await requireNothingAhead(ctx, { appId, environmentId });
  const { snapshotId, problem } = await createSnapshot(ctx, { appId, environmentId });
  if (problem !== null) throw new AppError('secret.unresolved', { appId, problem });
  const live = await ctx.tx.release.findFirstOrThrow({
    where: { id: liveReleaseId, organizationId: ctx.organizationId },
    select: { environmentId: true, configId: true, command: true, healthPath: true },
  });
  const deploymentId = newId('dep');
  const release = await copyRelease(
    ctx,
    { releaseId: liveReleaseId, deploymentId },
    { ...live, secretSnapshotId: snapshotId },
  );
  await startDeployment(ctx, {
    id: deploymentId,
    appId,
    environmentId,
    serverId,
    trigger: 'secret',
    ref: release.commitHash,
    release,
  });
  return { deploymentId };
}
