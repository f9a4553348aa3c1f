// Starts a backup of the control plane at once.
import type { BackupId } from '@fairlead/contract/ids';
import { recordAudit } from '../audit/index.ts';
import { type BackupFacts, createBackup } from '../backup/index.ts';
import { AppError } from '../kernel/index.ts';
import { forOperator, type OperatorCtx } from './operator.ts';

/** Throws control_plane.backup_not_set_up and control_plane.backup_running. */
export async function startBackup(
  ctx: OperatorCtx,
  { folder }: Pick<BackupFacts, 'folder'>,
): Promise<{ backupId: BackupId }> {
  if (folder === null) throw new AppError('control_plane.backup_not_set_up');
  const backupId = await createBackup(ctx, { slot: null, requestedByUserId: ctx.actor.userId });
  if (backupId === null) throw new AppError('control_plane.backup_running');
  await recordAudit(forOperator(ctx), {
    action: 'control_plane.start_backup',
    target: { kind: 'backup', id: backupId, label: folder },
  });
  return { backupId };
}
