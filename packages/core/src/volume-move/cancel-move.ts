// Cancels a move, and starts one that failed again.

import { parseId } from '@fairlead/contract/ids';
import { recordAudit } from '../audit/index.ts';
import { cancelDeployment, isFinished } from '../deployment/index.ts';
import { deploymentStateSchema } from '../deployment/schema.ts';
import { AppError, type Ctx } from '../kernel/index.ts';
import { lockApps, requireNothingUnderWay, requireOpenServer, requirePlacement } from '../placement/index.ts';
import { isConnected } from '../server/index.ts';
import { advanceMove, isActive } from './advance-move.ts';
import type { VolumeMoveRef } from './schema.ts';
import { startMove } from './start-move.ts';
import { findMove, type MoveRow, placeOf } from './store.ts';

/** The app starts again on the old server, with its own volumes. Throws volume_move.not_found and volume_move.finished. */
export async function cancelMove(ctx: Ctx, { moveId }: VolumeMoveRef): Promise<VolumeMoveRef> {
  const { tx, organizationId } = ctx;
  const move = await lockMove(ctx, { moveId });
  if (!isActive(move)) throw new AppError('volume_move.finished', { moveId });
  await tx.volumeMove.updateMany({ where: { id: moveId, organizationId }, data: { isCancelled: true } });
  await recordAudit(ctx, {
    action: 'volume_move.cancel',
    target: { kind: 'app', id: move.appId, label: await nameOf(ctx, move) },
    before: { state: move.state },
  });
  await cancelRollout(ctx, move);
  await advanceMove(ctx, { moveId });
  return { moveId };
}

/**
 * Starts a new move of the same app between the same servers. Throws volume_move.not_found, volume_move.not_failed,
 * placement.missing, placement.already, placement.under_way and server.drained.
 */
export async function retryMove(ctx: Ctx, { moveId }: VolumeMoveRef): Promise<VolumeMoveRef> {
  const { tx, organizationId } = ctx;
  const move = await lockMove(ctx, { moveId });
  const { appId, environmentId, sourceServerId, targetServerId } = move;
  if (move.state !== 'failed' && move.state !== 'cancelled') throw new AppError('volume_move.not_failed', { moveId });
  await requireOpenServer(ctx, { serverId: targetServerId });
  await requireNothingUnderWay(ctx, placeOf(move));
  const { servers } = await requirePlacement(ctx, placeOf(move));
  const runsOn = (serverId: string) => servers.some((each) => each.serverId === serverId);
  if (!runsOn(sourceServerId)) throw new AppError('placement.missing', { appId, serverId: sourceServerId });
  if (runsOn(targetServerId)) throw new AppError('placement.already', { appId, serverId: targetServerId });
  const source = await tx.server.findFirstOrThrow({
    where: { id: sourceServerId, organizationId },
    select: { drainedAt: true, connectedGateway: true, lastSeenAt: true },
  });
  if (source.drainedAt === null) throw new AppError('server.not_drained', { serverId: sourceServerId });
  await recordAudit(ctx, {
    action: 'volume_move.retry',
    target: { kind: 'app', id: appId, label: await nameOf(ctx, move) },
    after: { environmentId, sourceServerId, targetServerId },
  });
  const isFromSnapshots = !isConnected(source, ctx.clock.now());
  return { moveId: await startMove(ctx, { appId, environmentId, sourceServerId, targetServerId, isFromSnapshots }) };
}

async function lockMove(ctx: Ctx, { moveId }: VolumeMoveRef): Promise<MoveRow> {
  const seen = await findMove(ctx, { moveId });
  if (seen === null) throw new AppError('volume_move.not_found', { moveId });
  await lockApps(ctx, [seen.appId]);
  const move = await findMove(ctx, { moveId });
  if (move === null) throw new AppError('volume_move.not_found', { moveId });
  return move;
}

async function cancelRollout(ctx: Ctx, { deploymentId }: MoveRow): Promise<void> {
  if (deploymentId === null) return;
  const where = { id: deploymentId, organizationId: ctx.organizationId };
  const deployment = await ctx.tx.deployment.findFirst({ where, select: { state: true, ending: true } });
  if (deployment === null || deployment.ending !== null) return;
  if (isFinished(deploymentStateSchema.parse(deployment.state))) return;
  await cancelDeployment(ctx, { deploymentId: parseId('dep', deploymentId) });
}

async function nameOf({ tx, organizationId }: Ctx, { appId }: MoveRow): Promise<string> {
  const app = await tx.app.findFirstOrThrow({ where: { id: appId, organizationId }, select: { name: true } });
  return app.name;
}
