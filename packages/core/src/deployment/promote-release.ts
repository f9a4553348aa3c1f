// Promotes a release to another environment: the same artifact, with the settings and secrets of that environment.

import { newId } from '@fairlead/contract/ids';
import { findNewestConfig } from '../config/index.ts';
import { AppError, type Ctx } from '../kernel/index.ts';
import { findPlacement, lockApps, requireNoPreview } from '../placement/index.ts';
import { createSnapshot } from '../secret/index.ts';
import { copyRelease } from './copy-release.ts';
import type { DeploymentRef, PromoteReleaseInput } from './schema.ts';
import { startDeployment } from './start-deployment.ts';

/** Nothing is built. Throws release.same_environment, and placement.not_there when the app has no server there yet. */
export async function promoteRelease(ctx: Ctx, input: PromoteReleaseInput): Promise<DeploymentRef> {
  const { organizationId } = ctx;
  const { releaseId } = input;
  const source = await ctx.tx.release.findFirst({
    where: { id: releaseId, organizationId },
    select: {
      appId: true,
      environmentId: true,
      command: true,
      healthPath: true,
      app: { select: { healthPath: true } },
    },
  });
  if (source === null) throw new AppError('release.not_found', { releaseId });
  const { appId } = source;
  if (source.environmentId === input.environmentId) throw new AppError('release.same_environment', { releaseId });
  await lockApps(ctx, [appId]);
  const target = await findPlacement(ctx, { appId, environmentId: input.environmentId });
  if (target === null) throw new AppError('placement.not_there', { appId });
  const { environmentId, serverId } = target;
  await requireNoPreview(ctx, { environmentId });
  const { snapshotId, problem } = await createSnapshot(ctx, { appId, environmentId });
  if (problem !== null) throw new AppError('secret.unresolved', { appId, problem });
  const config = await findNewestConfig(ctx, { appId, environmentId });
  const { startCommand } = config.settings;
  const deploymentId = newId('dep');
  const release = await copyRelease(
    ctx,
    { releaseId, deploymentId },
    {
      environmentId,
      configId: config.id,
      secretSnapshotId: snapshotId,
      command: startCommand.length > 0 ? startCommand : source.command,
      healthPath: source.app.healthPath || source.healthPath,
    },
  );
  await startDeployment(ctx, {
    id: deploymentId,
    appId,
    environmentId,
    serverId,
    trigger: 'promote',
    ref: release.commitHash,
    release,
  });
  return { deploymentId };
}
