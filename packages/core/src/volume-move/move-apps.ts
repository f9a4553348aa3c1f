// Moves apps from a drained server to another one. An app without volumes is added there and deployed, and leaves the drained
// server with the next drain; volumes are copied first. Works without an answer of the drained server.
import { recordAudit } from '../audit/index.ts';
import { findUnfinished } from '../deployment/index.ts';
import { AppError, type Ctx } from '../kernel/index.ts';
import {
  attachServer,
  type DrainedApp,
  getDrain,
  lockDrainedApps,
  requireOpenServer,
  requirePlacement,
  type VerifyRights,
} from '../placement/index.ts';
import { isConnected } from '../server/index.ts';
import { deployMoved } from './deploy-moved.ts';
import type { MoveAppsInput, MovedApps } from './schema.ts';
import { startMove } from './start-move.ts';
import { loadNames, unfinishedDeployments } from './store.ts';

/**
 * Skips apps with volumes unless `copyVolumes` or `leaveVolumes` is set, those that a copy would lose data of, and
 * those with a deployment or a move ahead. Throws server.not_found, server.not_drained, server.drained and
 * volume_move.unsupported.
 */
export async function moveApps(
  ctx: Ctx,
  { targetServerId, copyVolumes = false, ...input }: MoveAppsInput,
  verifyRights: VerifyRights,
): Promise<MovedApps> {
  const { tx, organizationId } = ctx;
  const { serverId, leaveVolumes = false } = input;
  const placed = await lockDrainedApps(ctx, input, verifyRights);
  const { drainedAt } = await getDrain(ctx, { serverId });
  if (drainedAt === null) throw new AppError('server.not_drained', { serverId });
  await requireOpenServer(ctx, { serverId: targetServerId });
  const source = await tx.server.findFirstOrThrow({
    where: { id: serverId, organizationId },
    select: { connectedGateway: true, lastSeenAt: true },
  });
  const isOffline = !isConnected(source, ctx.clock.now());
  const items: MovedApps['items'] = [];
  for (const app of placed) {
    const how = moveOf(app, { copyVolumes, leaveVolumes, isOffline });
    const { appId, environmentId } = app;
    if (how === null || app.move !== null) continue;
    if ((await findUnfinished(ctx, { appId, environmentId }, unfinishedDeployments)).length > 0) continue;
    if (how === 'attach') {
      await attachServer(ctx, { appId, environmentId, serverId: targetServerId });
      const deployment = await deployMoved(ctx, { appId, environmentId });
      items.push({ appId, environmentId, deploymentId: deployment?.deploymentId ?? null, moveId: null });
      continue;
    }
    const { servers } = await requirePlacement(ctx, { appId, environmentId });
    // A server of the app has volumes of its own.
    if (servers.some((each) => each.serverId === targetServerId)) continue;
    const route = { sourceServerId: serverId, targetServerId };
    const moveId = await startMove(ctx, { appId, environmentId, ...route, isFromSnapshots: isOffline });
    items.push({ appId, environmentId, deploymentId: null, moveId });
  }
  const names = await loadNames(ctx, [serverId, targetServerId]);
  await recordAudit(ctx, {
    action: 'server.move_apps',
    target: { kind: 'server', id: serverId, label: names.get(serverId) ?? '' },
    after: {
      server: names.get(targetServerId) ?? '',
      copyVolumes,
      leaveVolumes,
      apps: items.map(({ appId, environmentId }) => `${appId} ${environmentId}`),
    },
  });
  ctx.log.info({ serverId, targetServerId, apps: items.length, actor: ctx.actor }, 'moved apps to another server');
  return { items };
}

interface MoveChoices {
  readonly copyVolumes: boolean;
  readonly leaveVolumes: boolean;
  readonly isOffline: boolean;
}

/** Null: the app stays. A server that is offline can copy only what it has snapshots of; the rest needs `leaveVolumes`. */
function moveOf(
  { stays, hasVolumes, volumes }: DrainedApp,
  { copyVolumes, leaveVolumes, isOffline }: MoveChoices,
): 'attach' | 'copy' | null {
  if (!hasVolumes) return stays === 'only_here' ? 'attach' : null;
  const taken = volumes.filter(({ snapshotAt }) => snapshotAt !== null).length;
  const isWhole = !isOffline || taken === volumes.length;
  const isWorthIt = !isOffline || taken > 0;
  if (copyVolumes && isWorthIt && (isWhole || leaveVolumes)) return 'copy';
  return leaveVolumes && stays === 'only_here' ? 'attach' : null;
}
