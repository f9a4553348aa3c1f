// Starts the move of one app with its volumes. Its servers do the work by their desired state.
import { supports } from '@fairlead/contract/capabilities';
import { newId, type VolumeMoveId } from '@fairlead/contract/ids';
import { recordAudit } from '../audit/index.ts';
import { AppError, actorUserId, type Ctx, notifyChange } from '../kernel/index.ts';
import { requireNoCopy } from '../placement/index.ts';
import { bumpServer } from '../server/index.ts';
import { addSnapshot, ensureVolumes, findNewestSnapshots } from '../volume/index.ts';
import { enqueueMove } from './enqueue-move.ts';
import { copyMs } from './machine.ts';
import { createRestores } from './restores.ts';

export interface StartMoveInput {
  readonly appId: string;
  readonly environmentId: string;
  readonly sourceServerId: string;
  readonly targetServerId: string;
  /** The source is offline: its newest snapshots stand for its volumes. */
  readonly isFromSnapshots: boolean;
}

/**
 * Requires the lock of the app. With snapshots, volumes without one start empty. Throws volume_move.unsupported and
 * volume_move.under_way.
 */
export async function startMove(ctx: Ctx, input: StartMoveInput): Promise<VolumeMoveId> {
  const { tx, organizationId } = ctx;
  const { appId, environmentId, sourceServerId, targetServerId, isFromSnapshots } = input;
  await requireNoCopy(ctx, input);
  await requireSupport(ctx, isFromSnapshots ? [targetServerId] : [sourceServerId, targetServerId]);
  const now = ctx.clock.now();
  const volumes = await ensureVolumes(ctx, { appId, environmentId, serverId: sourceServerId });
  const moveId = newId('vmv');
  await tx.volumeMove.create({
    data: {
      id: moveId,
      organizationId,
      appId,
      environmentId,
      sourceServerId,
      targetServerId,
      state: isFromSnapshots ? 'restoring' : 'copying',
      isFromSnapshots,
      deadlineAt: new Date(now.getTime() + copyMs),
      requestedByUserId: actorUserId(ctx.actor),
      createdAt: now,
    },
  });
  if (isFromSnapshots) {
    const snapshots = await findNewestSnapshots(ctx, { appId, environmentId, serverId: sourceServerId });
    await createRestores(ctx, { moveId, serverId: targetServerId, snapshots });
  } else {
    for (const volume of volumes) {
      await addSnapshot(ctx, { volume, serverId: sourceServerId, reason: 'move', moveId });
    }
  }
  for (const serverId of [sourceServerId, targetServerId].sort()) await bumpServer(ctx, serverId);
  await enqueueMove(ctx, moveId);
  const app = await tx.app.findFirstOrThrow({ where: { id: appId, organizationId }, select: { name: true } });
  await recordAudit(ctx, {
    action: 'volume_move.start',
    target: { kind: 'app', id: appId, label: app.name },
    after: { environmentId, sourceServerId, targetServerId, isFromSnapshots, volumes: volumes.map(({ name }) => name) },
  });
  await notifyChange(ctx, { kind: 'app', id: appId, appId });
  await notifyChange(ctx, { kind: 'server', id: sourceServerId });
  ctx.log.info(
    { moveId, appId, sourceServerId, targetServerId, isFromSnapshots },
    'started to move an app with its volumes',
  );
  return moveId;
}

async function requireSupport({ tx, organizationId }: Ctx, serverIds: readonly string[]): Promise<void> {
  const servers = await tx.server.findMany({
    where: { organizationId, id: { in: [...serverIds] } },
    select: { id: true, capabilities: true },
  });
  const lacking = servers.find(({ capabilities }) => !supports(capabilities, 'volume.snapshot'));
  if (lacking !== undefined) throw new AppError('volume_move.unsupported', { serverId: lacking.id });
}
