// Finds for each app in an environment the host below which its deployment URLs are, or the reason why it has none.
import { supports } from '@fairlead/contract/capabilities';
import { loadZones } from '../dns-provider/index.ts';
import { isPublicHost, type OrganizationCtx } from '../kernel/index.ts';
import { storedPolicySchema } from '../traffic/index.ts';
import type { NoUrlReason } from './schema.ts';

export interface UrlBase {
  /** Primary server of the app: only this server answers below its base domain. */
  readonly serverId: string;
  readonly isLocalServer: boolean;
  /** Name of the app in the environment below the base domain. */
  readonly host: string;
}

export interface PlacementOfUrls {
  readonly appId: string;
  readonly environmentId: string;
}

interface BaseRow extends PlacementOfUrls {
  readonly serverId: string | null;
  readonly isLocalServer: boolean | null;
  readonly baseDomain: string | null;
  readonly isDrained: boolean | null;
  readonly capabilities: string[] | null;
  readonly host: string | null;
  readonly policy: unknown;
  readonly conflict: string | null;
  readonly isOn: boolean;
}

/** Returns a base or a reason for each placement, keyed as `app/environment`. */
export async function findUrlBases(
  ctx: OrganizationCtx,
  placements: readonly PlacementOfUrls[],
): Promise<Map<string, UrlBase | NoUrlReason>> {
  if (placements.length === 0) return new Map();
  const wanted = JSON.stringify(placements.map(({ appId, environmentId }) => ({ appId, environmentId })));
  const rows = await ctx.tx.$queryRaw<BaseRow[]>`
    SELECT placement.app_id AS "appId", placement.environment_id AS "environmentId", server.id AS "serverId",
           server.is_local AS "isLocalServer", server.base_domain AS "baseDomain", server.drained_at IS NOT NULL AS "isDrained",
           server.capabilities, domain.host, domain.policy, domain_host.conflict,
           coalesce((config.settings->>'deploymentUrls')::boolean, true) AS "isOn"
    FROM jsonb_to_recordset(${wanted}::jsonb) AS wanted ("appId" text, "environmentId" text)
    JOIN placement ON placement.app_id = wanted."appId" AND placement.environment_id = wanted."environmentId"
                  AND placement.organization_id = ${ctx.organizationId}
    LEFT JOIN LATERAL (
      SELECT server_id FROM placement_server WHERE placement_server.placement_id = placement.id ORDER BY position LIMIT 1
    ) AS first_server ON true
    LEFT JOIN server ON server.id = first_server.server_id
    LEFT JOIN domain ON domain.app_id = placement.app_id AND domain.environment_id = placement.environment_id AND domain.automatic
    LEFT JOIN domain_host ON domain_host.organization_id = placement.organization_id AND domain_host.host = domain.host
    LEFT JOIN LATERAL (
      SELECT settings FROM app_config
      WHERE app_config.app_id = placement.app_id AND app_config.environment_id = placement.environment_id
      ORDER BY app_config.number DESC LIMIT 1
    ) AS config ON true`;
  const covered = await findCoveredBases(ctx, new Set(rows.flatMap(({ baseDomain }) => baseDomain ?? [])));
  return new Map(rows.map((row) => [`${row.appId}/${row.environmentId}`, baseOf(row, covered)]));
}

function baseOf(row: BaseRow, covered: ReadonlySet<string>): UrlBase | NoUrlReason {
  const { serverId, isLocalServer, baseDomain, host } = row;
  if (!row.isOn) return 'off';
  if (serverId === null || baseDomain === null || host === null || !host.endsWith(`.${baseDomain}`))
    return 'no_base_domain';
  if (!covered.has(baseDomain)) return 'no_wildcard';
  if (row.conflict !== null) return 'conflict';
  if (storedPolicySchema.parse(row.policy).redirect !== null) return 'redirected';
  if (row.isDrained === true) return 'drained';
  if (!supports(row.capabilities ?? [], 'deployment_url')) return 'agent_lacks';
  return { serverId, isLocalServer: isLocalServer === true, host };
}

/** Returns the base domains with a wildcard certificate, or with a DNS provider that can prove one. */
export async function findCoveredBases(ctx: OrganizationCtx, bases: ReadonlySet<string>): Promise<ReadonlySet<string>> {
  const { tx, organizationId, clock } = ctx;
  // The agent issues the certificates of local names itself.
  const covered = new Set([...bases].filter((base) => !isPublicHost(base)));
  const open = [...bases].filter((base) => !covered.has(base));
  if (open.length === 0) return covered;
  const zoneOf = await loadZones(ctx);
  const names = open.map((base) => `*.${base}`);
  const notAfter = { gt: clock.now() };
  const ordered = await tx.certificate.findMany({
    where: { organizationId, host: { in: names }, notAfter },
    select: { host: true },
  });
  const uploads = await tx.uploadedCertificate.findMany({
    where: { organizationId, names: { hasSome: names }, notAfter },
    select: { names: true },
  });
  const certified = new Set([...ordered.map(({ host }) => host), ...uploads.flatMap((upload) => upload.names)]);
  for (const base of open) {
    if (certified.has(`*.${base}`) || zoneOf(`*.${base}`) !== null) covered.add(base);
  }
  return covered;
}
