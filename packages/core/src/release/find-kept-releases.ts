// Finds the releases that can be rolled out again: the live ones, and the newest former ones. All others may be
// pruned, on servers and in the store.
import { defaultSettings } from '../config/index.ts';
import type { OrganizationCtx } from '../kernel/index.ts';

/** Number of releases with a deployment URL, the live one among them. */
export const deploymentUrlsMax = 10;

export interface KeptRelease {
  readonly id: string;
  readonly appId: string;
  readonly environmentId: string;
  readonly artifactDigest: string;
}

/** Finds the kept releases of these placements. Their number is a setting of each; those with a deployment URL are always kept. */
export async function findKeptReleases(
  ctx: OrganizationCtx,
  placements: readonly { readonly appId: string; readonly environmentId: string }[],
): Promise<KeptRelease[]> {
  if (placements.length === 0) return [];
  const wanted = JSON.stringify(placements.map(({ appId, environmentId }) => ({ appId, environmentId })));
  return ctx.tx.$queryRaw<KeptRelease[]>`
    SELECT kept.id, kept.app_id AS "appId", kept.environment_id AS "environmentId",
           kept.artifact_digest AS "artifactDigest"
    FROM jsonb_to_recordset(${wanted}::jsonb) AS wanted ("appId" text, "environmentId" text)
    LEFT JOIN LATERAL (
      SELECT (settings->>'releasesKept')::int AS keep, (settings->>'deploymentUrls')::boolean AS has_urls FROM app_config
      WHERE app_config.app_id = wanted."appId" AND app_config.environment_id = wanted."environmentId"
        AND app_config.organization_id = ${ctx.organizationId}
      ORDER BY app_config.number DESC LIMIT 1
    ) AS config ON true
    LEFT JOIN LATERAL (
      SELECT server.base_domain FROM placement JOIN placement_server ON placement_server.placement_id = placement.id
      JOIN server ON server.id = placement_server.server_id
      WHERE placement.app_id = wanted."appId" AND placement.environment_id = wanted."environmentId"
        AND placement.organization_id = ${ctx.organizationId}
      ORDER BY placement_server.position LIMIT 1
    ) AS first_server ON true
    CROSS JOIN LATERAL (
      (SELECT release.* FROM release
       WHERE release.app_id = wanted."appId" AND release.environment_id = wanted."environmentId"
         AND release.organization_id = ${ctx.organizationId}
         AND EXISTS (SELECT 1 FROM deployment
                     WHERE deployment.release_id = release.id AND deployment.state = 'live')
       -- The live one is one of them as a rule, and does not count.
       ORDER BY release.number DESC LIMIT greatest(
         coalesce(config.keep, ${defaultSettings.releasesKept}::int) + 1,
         CASE WHEN first_server.base_domain IS NOT NULL AND coalesce(config.has_urls, true) THEN ${deploymentUrlsMax}::int END))
      UNION
      SELECT release.* FROM release JOIN placement_server ON placement_server.live_release_id = release.id
      JOIN placement ON placement.id = placement_server.placement_id
      WHERE placement.app_id = wanted."appId" AND placement.environment_id = wanted."environmentId"
        AND placement.organization_id = ${ctx.organizationId}
    ) AS kept`;
}
