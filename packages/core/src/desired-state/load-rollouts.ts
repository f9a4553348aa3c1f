// Loads the rollouts of a server: the release that each placement runs next, or rolls back to after a failure.
import type { OrganizationCtx } from '../kernel/index.ts';
import { placementKey, releaseColumns, type StoredRelease } from './stored-release.ts';

export interface LoadedRollout {
  readonly deploymentId: string;
  readonly release: StoredRelease;
  /** True on the first server of the deployment. */
  readonly isFirst: boolean;
  /** True on the last server of the deployment. */
  readonly isLast: boolean;
  /** True if the server rolls back to the previous release. */
  readonly isBack: boolean;
  /** True for a rollback or a restart, whose release has served before. */
  readonly isProven: boolean;
}

const provenTriggers: ReadonlySet<string> = new Set(['rollback', 'restart']);

/** Returns rollouts by `placementKey`. */
export async function loadRollouts(ctx: OrganizationCtx, serverId: string): Promise<Map<string, LoadedRollout>> {
  const { tx, organizationId } = ctx;
  const rows = await tx.deploymentServer.findMany({
    where: {
      serverId,
      organizationId,
      state: { in: ['rolling_out', 'reverting'] },
      deployment: { state: { in: ['releasing', 'rolling_out'] } },
    },
    select: {
      state: true,
      position: true,
      revertId: true,
      formerReleaseId: true,
      deployment: {
        select: {
          id: true,
          trigger: true,
          appId: true,
          environmentId: true,
          release: { select: releaseColumns },
          servers: { select: { position: true }, orderBy: { position: 'desc' }, take: 1 },
        },
      },
    },
  });
  const formerReleases = await tx.release.findMany({
    where: { organizationId, id: { in: rows.flatMap(({ formerReleaseId }) => formerReleaseId ?? []) } },
    select: releaseColumns,
  });
  const formerById = new Map(formerReleases.map((release) => [release.id, release]));
  const rollouts = new Map<string, LoadedRollout>();
  for (const { state, position, revertId, formerReleaseId, deployment } of rows) {
    const isBack = state === 'reverting';
    const release = isBack ? formerById.get(formerReleaseId ?? '') : deployment.release;
    const deploymentId = isBack ? revertId : deployment.id;
    if (!release || deploymentId === null) continue;
    const isLast = position === deployment.servers[0]?.position;
    const isProven = provenTriggers.has(deployment.trigger);
    const isFirst = position === 0;
    rollouts.set(placementKey(deployment), { deploymentId, release, isFirst, isLast, isBack, isProven });
  }
  return rollouts;
}
