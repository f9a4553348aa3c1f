// Moves the apps that run only on a drained server to another one. Each is added there and deployed; it leaves the drained
// server with the next drain. Works without an answer of the drained server.
import { recordAudit } from '../audit/index.ts';
import { AppError, type Ctx } from '../kernel/index.ts';
import {
  attachServer,
  getDrain,
  lockDrainedApps,
  requireOpenServer,
  requirePlacement,
  type VerifyRights,
} from '../placement/index.ts';
import { createDeployment } from './create-deployment.ts';
import { isFinished } from './machine.ts';
import { restartApp } from './restart-app.ts';
import { type DeploymentRef, deploymentStateSchema, type MoveAppsInput, type MovedApps } from './schema.ts';
import { findUnfinished } from './store.ts';

const unfinished = deploymentStateSchema.options.filter((state) => !isFinished(state));

/**
 * Passes over apps with volumes unless `leaveVolumes` is set, and those with a deployment ahead. Throws server.not_found,
 * server.not_drained and server.drained.
 */
export async function moveApps(
  ctx: Ctx,
  { targetServerId, ...input }: MoveAppsInput,
  verifyRights: VerifyRights,
): Promise<MovedApps> {
  const { serverId, leaveVolumes = false } = input;
  const placed = await lockDrainedApps(ctx, input, verifyRights);
  const { drainedAt } = await getDrain(ctx, { serverId });
  if (drainedAt === null) throw new AppError('server.not_drained', { serverId });
  await requireOpenServer(ctx, { serverId: targetServerId });
  const moving = placed.filter(({ stays }) => stays === 'only_here');
  const items: MovedApps['items'] = [];
  for (const { appId, environmentId } of moving) {
    if ((await findUnfinished(ctx, { appId, environmentId }, unfinished)).length > 0) continue;
    await attachServer(ctx, { appId, environmentId, serverId: targetServerId });
    const deployment = await deployMoved(ctx, { appId, environmentId });
    items.push({ appId, environmentId, deploymentId: deployment?.deploymentId ?? null });
  }
  const [server, target] = await namesOf(ctx, [serverId, targetServerId]);
  await recordAudit(ctx, {
    action: 'server.move_apps',
    target: { kind: 'server', id: serverId, label: server ?? '' },
    after: {
      server: target ?? '',
      leaveVolumes,
      apps: items.map(({ appId, environmentId }) => `${appId} ${environmentId}`),
    },
  });
  ctx.log.info({ serverId, targetServerId, apps: items.length, actor: ctx.actor }, 'moved apps to another server');
  return { items };
}

async function namesOf({ tx, organizationId }: Ctx, ids: readonly string[]): Promise<(string | undefined)[]> {
  const rows = await tx.server.findMany({
    where: { organizationId, id: { in: [...ids] } },
    select: { id: true, name: true },
  });
  return ids.map((id) => rows.find((row) => row.id === id)?.name);
}

/** Rolls out the live release from the artifact store, or builds its commit again. Null: the app was never live. */
async function deployMoved(
  ctx: Ctx,
  place: Pick<MovedApps['items'][number], 'appId' | 'environmentId'>,
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
  if (isStored || release.app.repositoryUrl === '') return restartApp(ctx, place);
  return createDeployment(ctx, { ...place, ref: release.commitHash });
}
