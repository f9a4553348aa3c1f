// Owns the wish for new instances of what is live. Must never change what is live.
import { AppError, type Ctx } from '../kernel/index.ts';
import { isFinished } from './machine.ts';
import { type DeploymentRef, deploymentStateSchema, type RestartAppInput } from './schema.ts';
import { requirePlacement, startDeployment } from './start-deployment.ts';
import { findUnfinished, lockApps } from './store.ts';

const unfinished = deploymentStateSchema.options.filter((state) => !isFinished(state));

/**
 * Rolls the live release out beside itself, on every server of the app in that environment: its new instances take over
 * when they are healthy, so nobody notices. Refused while a deployment waits or is under way: it brings new instances anyway,
 * and a restart behind it would bring back what it replaced.
 */
export async function restartApp(ctx: Ctx, input: RestartAppInput): Promise<DeploymentRef> {
  const { appId } = input;
  await lockApps(ctx, [appId]);
  const { environmentId, serverId, servers, liveReleaseId } = await requirePlacement(ctx, appId, input.environmentId);
  if (liveReleaseId === null) throw new AppError('app.not_live', { appId });
  const [ahead] = await findUnfinished(ctx, { appId, environmentId }, unfinished);
  if (ahead !== undefined) throw new AppError('deployment.under_way', { deploymentId: ahead.id });
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
  });
  return { deploymentId };
}
