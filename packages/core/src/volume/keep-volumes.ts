// Cancels volume deletions when an app returns to an environment.
import { recordAudit } from '../audit/index.ts';
import { findNewestConfig } from '../config/index.ts';
import type { Ctx } from '../kernel/index.ts';

/**
 * Cancels the deletion of volumes that the settings name again, unless a server was already told to delete them. Other
 * volumes are deleted as requested.
 */
export async function keepVolumes(
  ctx: Ctx,
  placement: { readonly appId: string; readonly environmentId: string },
): Promise<void> {
  const { tx, organizationId } = ctx;
  const { settings } = await findNewestConfig(ctx, placement);
  const kept = await tx.volume.findMany({
    where: {
      ...placement,
      organizationId,
      name: { in: settings.volumes.map(({ name }) => name) },
      releasedAt: null,
      NOT: { deleteAt: null },
    },
    select: { id: true, name: true, label: true, deleteAt: true },
    orderBy: { id: 'asc' },
  });
  for (const { id, name, label, deleteAt } of kept) {
    const { count } = await tx.volume.updateMany({
      where: { id, organizationId, releasedAt: null },
      data: { deleteAt: null },
    });
    if (count === 0) continue;
    await recordAudit(ctx, {
      action: 'volume.restore',
      target: { kind: 'volume', id, label: `${label} · ${name}` },
      before: { deleteAt: deleteAt?.toISOString() ?? null },
      after: { deleteAt: null },
    });
  }
}
