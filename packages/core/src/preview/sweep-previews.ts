// Finds previews that changed without a delivery: too old, switched off, without a repository, or with a free place at last; and
// environments of previews that ended.
import { type OrganizationId, parseId } from '@fairlead/contract/ids';
import type { Ctx, SystemCtx } from '../kernel/index.ts';
import { retention, withDeletedApps } from '../kernel/index.ts';
import { lastingStates } from './decide-preview.ts';
import { lockPreview } from './store.ts';
import { syncPreview } from './sync-preview.ts';

export interface PreviewTask {
  readonly organizationId: OrganizationId;
  readonly previewId: string;
}

const batch = 50;

/** Returns previews with a state that may have changed, the oldest push first. */
export async function findOutdatedPreviews({ tx, clock }: SystemCtx): Promise<readonly PreviewTask[]> {
  const rows = await tx.$queryRaw<{ organizationId: string; previewId: string }[]>`
    SELECT preview.organization_id AS "organizationId", preview.id AS "previewId"
    FROM preview
    LEFT JOIN preview_policy AS policy ON policy.app_id = preview.app_id
    WHERE preview.is_open AND preview.state IN ('active', 'waiting', 'failed', 'limited', 'unnamed')
      AND NOT EXISTS (SELECT 1 FROM app_deletion WHERE app_deletion.app_id = preview.app_id)
      AND (policy.enabled IS NOT TRUE
        OR preview.pushed_at < ${clock.now()}::timestamptz - policy.days_max * interval '1 day'
        OR NOT EXISTS (
          SELECT 1 FROM app_repository AS link JOIN github_installation AS installation ON installation.id = link.installation_id
          WHERE link.app_id = preview.app_id AND link.repository_id = preview.repository_id
            AND link.lost_at IS NULL AND installation.removed_at IS NULL)
        OR (preview.state = 'limited' AND policy.previews_max > (
          SELECT count(*) FROM preview AS other
          WHERE other.app_id = preview.app_id AND other.environment_id IS NOT NULL))
        OR (preview.state = 'unnamed' AND EXISTS (
          SELECT 1 FROM server WHERE server.base_domain IS NOT NULL AND server.id = (
            SELECT placement_server.server_id
            FROM placement JOIN placement_server ON placement_server.placement_id = placement.id
            WHERE placement.app_id = policy.app_id AND placement.environment_id = policy.environment_id
            ORDER BY placement_server.position LIMIT 1))))
    ORDER BY preview.pushed_at, preview.id LIMIT ${batch}`;
  return rows.map(({ organizationId, previewId }) => ({ organizationId: parseId('org', organizationId), previewId }));
}

/** Returns previews that ended and still have an environment. */
export async function findEndedPreviews({ tx }: SystemCtx): Promise<readonly PreviewTask[]> {
  const rows = await tx.preview.findMany({
    where: { environmentId: { not: null }, state: { notIn: [...lastingStates] }, app: { deletion: null } },
    select: { id: true, organizationId: true },
    orderBy: [{ changedAt: 'asc' }, { id: 'asc' }],
    take: batch,
  });
  return rows.map(({ id, organizationId }) => ({ organizationId: parseId('org', organizationId), previewId: id }));
}

export async function refreshPreview(ctx: Ctx, { previewId }: Pick<PreviewTask, 'previewId'>): Promise<void> {
  const row = await lockPreview(ctx, previewId);
  if (row !== null) await syncPreview(ctx, row);
}

/** Deletes pull requests that closed long ago, and environments that the purge of their app left. */
export async function prunePreviews(ctx: Pick<SystemCtx, 'tx' | 'clock'>): Promise<void> {
  const { tx, clock } = ctx;
  const before = new Date(clock.now().getTime() - retention.deliveryMs);
  await tx.preview.deleteMany({
    where: {
      isOpen: false,
      environmentId: null,
      changedAt: { lt: before },
      // Keeps the row until the comment says that the pull request is closed.
      OR: [{ comment: null }, { comment: { nextAttemptAt: null } }],
    },
  });
  await withDeletedApps(ctx, () =>
    tx.environment.deleteMany({ where: { kind: 'preview', preview: null, placements: { none: {} } } }),
  );
}
