// Approves one commit of a fork's pull request, which is built at once.
// Invariant: an approval is for one commit, and a member gives it in person.
import { recordAudit } from '../audit/index.ts';
import { touchComment } from '../github/index.ts';
import { AppError, type Ctx } from '../kernel/index.ts';
import type { ApprovePreviewInput, PreviewRef } from './schema.ts';
import { requireLockedPreview } from './store.ts';
import { syncPreview } from './sync-preview.ts';

/** Throws preview.not_found, preview.not_waiting and preview.head_moved. */
export async function approvePreview(ctx: Ctx, { previewId, commitHash }: ApprovePreviewInput): Promise<PreviewRef> {
  const { tx, organizationId, actor } = ctx;
  if (actor.kind !== 'member') throw new AppError('permission.denied', { permission: 'deployment.approve' });
  const row = await requireLockedPreview(ctx, previewId);
  if (row.state !== 'waiting') throw new AppError('preview.not_waiting', { previewId });
  if (row.headHash !== commitHash) throw new AppError('preview.head_moved', { previewId });
  const approved = { approvedHash: commitHash, approvedByUserId: actor.userId };
  await tx.preview.updateMany({ where: { id: previewId, organizationId }, data: approved });
  await recordAudit(ctx, {
    action: 'preview.approve',
    target: { kind: 'app', id: row.appId, label: `PR ${row.number}` },
    before: { approvedHash: row.approvedHash },
    after: { previewId, approvedHash: commitHash },
  });
  await syncPreview(ctx, { ...row, ...approved });
  await touchComment(ctx, previewId);
  return { previewId };
}
