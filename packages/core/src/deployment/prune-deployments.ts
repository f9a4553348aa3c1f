// Deletes old deployments with their steps and build logs, in bounded batches.
// Invariant: it keeps every deployment of a release that is live or can be rolled back to. Releases stay.
import { parseId } from '@fairlead/contract/ids';
import { forOrganization, retention, type SystemCtx } from '../kernel/index.ts';
import { listDeploymentLogs } from '../log/index.ts';
import { findKeptReleases } from '../release/index.ts';

const placementsMax = 100;
const deploymentsMax = 200;

export interface PrunedDeployments {
  readonly count: number;
  /** Objects of their logs in the log store, to be deleted after the commit. */
  readonly objectKeys: readonly string[];
  /** Begin of the next batch; null after the last one. */
  readonly next: string | null;
}

/** Prunes one batch. `from`: `next` of the batch before, or an empty text for the first. System scope. */
export async function pruneDeployments(
  ctx: SystemCtx,
  { from }: { readonly from: string },
): Promise<PrunedDeployments> {
  const { tx, clock } = ctx;
  const placements = await tx.placement.findMany({
    where: { id: { gte: from } },
    select: { id: true, organizationId: true, appId: true, environmentId: true },
    orderBy: { id: 'asc' },
    take: placementsMax + 1,
  });
  const batch = placements.slice(0, placementsMax);
  const keptIds: string[] = [];
  for (const [organizationId, rows] of Map.groupBy(batch, (row) => row.organizationId)) {
    const kept = await findKeptReleases(forOrganization(ctx, parseId('org', organizationId)), rows);
    keptIds.push(...kept.map(({ id }) => id));
  }
  const finishedBefore = new Date(clock.now().getTime() - retention.deploymentMs);
  const old = await tx.$queryRaw<{ id: string }[]>`
    SELECT old.id FROM placement CROSS JOIN LATERAL (
      SELECT id, release_id, finished_at FROM deployment
      WHERE deployment.app_id = placement.app_id AND deployment.environment_id = placement.environment_id
      ORDER BY queued_at DESC, id DESC OFFSET ${retention.deploymentsKept}
    ) AS old
    WHERE placement.id = ANY(${batch.map(({ id }) => id)}) AND old.finished_at < ${finishedBefore}
      AND (old.release_id IS NULL OR NOT old.release_id = ANY(${keptIds}))
    LIMIT ${deploymentsMax}`;
  const ids = old.map(({ id }) => id);
  const objectKeys = await listDeploymentLogs(ctx, ids);
  await tx.deployment.deleteMany({ where: { id: { in: ids } } });
  const next = ids.length === deploymentsMax ? from : (placements[placementsMax]?.id ?? null);
  return { count: ids.length, objectKeys, next };
}
