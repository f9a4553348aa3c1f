// Owns the wish to run what is live with the newest secrets, at once and without a build.
import { newId } from '@fairlead/contract/ids';
import { AppError, type Ctx } from '../kernel/index.ts';
import { createSnapshot } from '../secret/index.ts';
import type { DeploymentRef, DeploySecretsInput } from './schema.ts';
import { requirePlacement, startDeployment } from './start-deployment.ts';
import { lockApps } from './store.ts';

/**
 * Releases never change, so this makes one of the live release's artifact and the newest secrets. It rolls out like every
 * other: started beside the old one, switched to when healthy.
 */
export async function deploySecrets(ctx: Ctx, input: DeploySecretsInput): Promise<DeploymentRef> {
  const { tx, organizationId } = ctx;
  const { appId } = input;
  await lockApps(ctx, [appId]);
  const { environmentId, serverId, liveReleaseId } = await requirePlacement(ctx, appId);
  if (liveReleaseId === null) throw new AppError('app.not_live', { appId });
  const live = await tx.release.findFirstOrThrow({ where: { id: liveReleaseId, organizationId } });
  if (live.builtOnServerId !== serverId) throw new AppError('release.artifact_elsewhere', { releaseId: live.id });
  const { snapshotId, problem } = await createSnapshot(ctx, { appId, environmentId });
  if (problem !== null) throw new AppError('secret.unresolved', { appId, problem });

  const newest = await tx.release.findFirstOrThrow({
    where: { appId, organizationId },
    select: { number: true },
    orderBy: { number: 'desc' },
  });
  const release = {
    ...live,
    id: newId('rel'),
    number: newest.number + 1,
    secretSnapshotId: snapshotId,
    createdAt: ctx.clock.now(),
  };
  await tx.release.create({ data: release });
  const deploymentId = await startDeployment(ctx, {
    appId,
    environmentId,
    serverId,
    trigger: 'secret',
    ref: release.commitHash,
    release,
  });
  return { deploymentId };
}
