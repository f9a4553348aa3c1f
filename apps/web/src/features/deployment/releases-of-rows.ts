// Matches deployments with the releases that they made live, for rollback, promotion and comparison. Pure.
import type { DeploymentSummary, Release } from '../../api/types.ts';

/** Input of the list of releases: each kept one is among its newest. */
export const releaseLimit = 100;

export interface ReleaseOfRow {
  readonly release: Release;
  /** True on one deployment of each release that can be rolled out again, the newest. */
  readonly canRollBack: boolean;
}

/** Returns the releases by deployment. `deployments` are newest first. */
export function releasesOfRows(
  deployments: readonly DeploymentSummary[],
  releases: readonly Release[],
): ReadonlyMap<string, ReleaseOfRow> {
  const byId = new Map<string, Release>(releases.map((release) => [release.id, release]));
  const offered = new Set<string>();
  const rows = new Map<string, ReleaseOfRow>();
  for (const { id, releaseId, state } of deployments) {
    const release = releaseId === null ? undefined : byId.get(releaseId);
    if (release === undefined || state !== 'live') continue;
    rows.set(id, { release, canRollBack: release.isKept && !release.isLive && !offered.has(release.id) });
    offered.add(release.id);
  }
  return rows;
}
