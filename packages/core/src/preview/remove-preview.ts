// Removes the preview of a pull request until its next push.
import { recordAudit } from '../audit/index.ts';
import type { Ctx } from '../kernel/index.ts';
import type { PreviewRef } from './schema.ts';
import { requireLockedPreview } from './store.ts';
import { syncPreview } from './sync-preview.ts';

/** Its environment goes within seconds. Throws preview.not_found. */
export async function removePreview(ctx: Ctx, { previewId }: PreviewRef): Promise<PreviewRef> {
  const { tx, organizationId } = ctx;
  const row = await requireLockedPreview(ctx, previewId);
  const removedHash = row.headHash;
  await tx.preview.updateMany({ where: { id: previewId, organizationId }, data: { removedHash } });
  await recordAudit(ctx, {
    action: 'preview.remove',
    target: { kind: 'app', id: row.appId, label: `PR ${row.number}` },
    before: { state: row.state },
    after: { previewId, removedHash },
  });
  await syncPreview(ctx, { ...row, removedHash });
  return { previewId };
}
