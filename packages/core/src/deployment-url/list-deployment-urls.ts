// Lists the deployment URLs of an app in an environment.
import { parseId } from '@fairlead/contract/ids';
import type { Ctx, OrganizationCtx } from '../kernel/index.ts';
import { type PlacementInput, requirePlacement } from '../placement/index.ts';
import { deploymentUrlsMax, type OriginRoute } from '../release/index.ts';
import { deploymentHost } from './deployment-host.ts';
import { findUrlBases, type PlacementOfUrls } from './find-url-bases.ts';
import type { DeploymentUrls } from './schema.ts';

export interface ReleaseOfUrl extends PlacementOfUrls {
  readonly id: string;
  readonly number: number;
}

/** Finds the releases that have a deployment URL in these placements: the newest ones that were live. */
export async function findUrlReleases(
  ctx: OrganizationCtx,
  placements: readonly PlacementOfUrls[],
): Promise<ReleaseOfUrl[]> {
  if (placements.length === 0) return [];
  const wanted = JSON.stringify(placements.map(({ appId, environmentId }) => ({ appId, environmentId })));
  return ctx.tx.$queryRaw<ReleaseOfUrl[]>`
    SELECT newest.id, newest.number, newest.app_id AS "appId", newest.environment_id AS "environmentId"
    FROM jsonb_to_recordset(${wanted}::jsonb) AS wanted ("appId" text, "environmentId" text)
    CROSS JOIN LATERAL (
      SELECT release.id, release.number, release.app_id, release.environment_id FROM release
      WHERE release.app_id = wanted."appId" AND release.environment_id = wanted."environmentId"
        AND release.organization_id = ${ctx.organizationId}
        AND EXISTS (SELECT 1 FROM deployment WHERE deployment.release_id = release.id AND deployment.state = 'live')
      ORDER BY release.number DESC LIMIT ${deploymentUrlsMax}
    ) AS newest
    ORDER BY newest.app_id, newest.environment_id, newest.number DESC`;
}

/** `urlOf` writes the address of a host on a server. */
export async function listDeploymentUrls(
  ctx: Ctx,
  input: PlacementInput,
  urlOf: (route: OriginRoute, isLocalServer: boolean) => string,
): Promise<DeploymentUrls> {
  const { appId } = input;
  const { environmentId } = await requirePlacement(ctx, input);
  const [base = 'no_base_domain'] = (await findUrlBases(ctx, [{ appId, environmentId }])).values();
  if (typeof base === 'string') return { reason: base, urls: [] };
  const releases = await findUrlReleases(ctx, [{ appId, environmentId }]);
  return {
    reason: null,
    urls: releases.map(({ id, number }) => ({
      releaseId: parseId('rel', id),
      url: urlOf({ host: deploymentHost(base.host, number), pathPrefix: '/' }, base.isLocalServer),
    })),
  };
}
