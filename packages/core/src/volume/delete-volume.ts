// Schedules the deletion of a volume: it needs a confirmation by name, and can be cancelled during a delay. Then its
// servers delete it.
import type { AuditAction } from '@fairlead/contract/audit-actions';
import { recordAudit } from '../audit/index.ts';
import { AppError, type Ctx, notifyChange } from '../kernel/index.ts';
import { type DeletedVolume, type DeleteVolumeInput, type VolumeRef, volumeDelayMs } from './schema.ts';
import { loadVolumes } from './store.ts';

/** Nothing happens for seven days. Throws volume.in_use while settings or the live release name it. */
export async function deleteVolume(ctx: Ctx, input: DeleteVolumeInput): Promise<DeletedVolume> {
  const { volumeId } = input;
  const volume = await lockVolume(ctx, volumeId);
  if (volume.name !== input.confirmName.trim()) throw new AppError('volume.confirm_mismatch', { volumeId });
  if (volume.deleteAt !== null) throw new AppError('volume.deletion_pending', { volumeId });
  if (volume.inUse) throw new AppError('volume.in_use', { volumeId });
  const deleteAt = new Date(ctx.clock.now().getTime() + volumeDelayMs);
  await write(ctx, volume, deleteAt, 'volume.delete');
  return { volumeId, deleteAt };
}

/** Cancels the deletion. Once the delay has passed, it is too late: a server may have begun. */
export async function restoreVolume(ctx: Ctx, input: VolumeRef): Promise<VolumeRef> {
  const { volumeId } = input;
  const volume = await lockVolume(ctx, volumeId);
  if (volume.deleteAt === null || volume.deleteAt <= ctx.clock.now()) {
    throw new AppError('volume.deletion_not_pending', { volumeId });
  }
  await write(ctx, volume, null, 'volume.restore');
  return { volumeId };
}

async function lockVolume(ctx: Ctx, volumeId: string) {
  await ctx.tx.$queryRaw`
    SELECT id FROM volume WHERE id = ${volumeId} AND organization_id = ${ctx.organizationId} FOR UPDATE`;
  const [volume] = await loadVolumes(ctx, { id: volumeId });
  if (volume === undefined) throw new AppError('volume.not_found', { volumeId });
  return volume;
}

async function write(
  ctx: Ctx,
  volume: Awaited<ReturnType<typeof lockVolume>>,
  deleteAt: Date | null,
  action: AuditAction,
): Promise<void> {
  const { organizationId } = ctx;
  await ctx.tx.volume.updateMany({ where: { id: volume.id, organizationId }, data: { deleteAt } });
  await recordAudit(ctx, {
    action,
    target: { kind: 'volume', id: volume.id, label: `${volume.label} · ${volume.name}` },
    before: { deleteAt: volume.deleteAt?.toISOString() ?? null },
    after: { deleteAt: deleteAt?.toISOString() ?? null },
  });
  await notifyChange(ctx, { kind: 'app', id: volume.appId, appId: volume.appId });
}
