// Restarts an app: new instances of the live release.
// Invariant: it never changes the live release.

import { AppError, type Ctx } from '../kernel/index.ts';
import { lockApps, requirePlacement } from '../placement/index.ts';
import type { DeploymentRef, RestartAppInput } from './schema.ts';
import { type DeploymentRights, requireNothingAhead, startDeployment } from './start-deployment.ts';

/**
 * Rolls the live release out again, on every server of the app in that environment. The new instances take over when
 * they are healthy, so there is no downtime. Refused while a deployment waits or runs: it brings new instances anyway,
 * and a restart behind it would bring back the release that it replaced.
 */
export async function restartApp(
  ctx: Ctx,
  input: RestartAppInput,
  rights: DeploymentRights = {},
): Promise<DeploymentRef> {
  const { appId } = input;
  await lockApps(ctx, [appId]);
  const { environmentId, serverId, servers, liveReleaseId } = await requirePlacement(ctx, {
    appId,
    environmentId: input.environmentId,
  });
  if (liveReleaseId === null) throw new AppError('app.not_live', { appId });
  await requireNothingAhead(ctx, { appId, environmentId });
  // Going back failed on one of them: a restart would change what is live there.
  const differ = servers.some((server) => server.liveReleaseId !== null && server.liveReleaseId !== liveReleaseId);
  if (differ) throw new AppError('app.releases_differ', { appId });
  const release = await ctx.tx.release.findFirstOrThrow({
    where: { id: liveReleaseId, organizationId: ctx.organizationId },
    select: { id: true, commitHash: true, commitSubject: true, commitAuthor: true },
  });
  const deploymentId = await startDeployment(ctx, {
    appId,
    environmentId,
    serverId,
    trigger: 'restart',
    ref: release.commitHash,
    release,
    rights,
  });
  return { deploymentId };
}
