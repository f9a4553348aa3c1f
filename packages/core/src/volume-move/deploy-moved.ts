// Deploys an app on the server that it moves to.
import type { AppId, EnvironmentId } from '@fairlead/contract/ids';
import { createDeployment, type DeploymentRef, type DeploymentRights, restartApp } from '../deployment/index.ts';
import type { Ctx } from '../kernel/index.ts';
import { requirePlacement } from '../placement/index.ts';

/** Rolls out the live release from the artifact store, or builds its commit again. Null: the app was never live. */
export async function deployMoved(
  ctx: Ctx,
  place: { readonly appId: AppId; readonly environmentId: EnvironmentId },
  rights: DeploymentRights = {},
): Promise<DeploymentRef | null> {
  const { tx, organizationId } = ctx;
  const { liveReleaseId } = await requirePlacement(ctx, place);
  if (liveReleaseId === null) return null;
  const release = await tx.release.findFirstOrThrow({
    where: { id: liveReleaseId, organizationId },
    select: { artifactDigest: true, commitHash: true, app: { select: { repositoryUrl: true } } },
  });
  const isStored = (await tx.artifact.count({ where: { organizationId, digest: release.artifactDigest } })) > 0;
  // Without a repository there is no commit to build: the deployment fails with what to do.
  if (isStored || release.app.repositoryUrl === '') return restartApp(ctx, place, rights);
  return createDeployment(ctx, { ...place, ref: release.commitHash }, rights);
}
