// Loads the placements on a server, with their live releases, newest settings and domains.
import { defaultSettings, type Settings } from '../config/index.ts';
import type { OrganizationCtx } from '../kernel/index.ts';
import { hostPolicySchema, storedPolicySchema } from '../traffic/index.ts';
import { loadNewestSettings } from './load-newest-settings.ts';
import { placementKey, releaseColumns, type StoredRelease } from './stored-release.ts';
import type { DomainRow } from './to-desired-state.ts';

export interface LoadedPlacement {
  readonly appId: string;
  readonly environmentId: string;
  readonly appName: string;
  /** A deleted app stops, and its servers keep what it needs to return. */
  readonly isDeleted: boolean;
  readonly instances: number;
  readonly secretsProblem: string | null;
  readonly liveRelease: StoredRelease | null;
  readonly settings: Settings;
  readonly domains: readonly DomainRow[];
}

export async function loadPlacements(ctx: OrganizationCtx, serverId: string): Promise<LoadedPlacement[]> {
  const { tx, organizationId } = ctx;
  const placed = await tx.placementServer.findMany({
    where: { serverId, organizationId },
    select: {
      secretsProblem: true,
      liveRelease: { select: releaseColumns },
      placement: {
        select: {
          appId: true,
          environmentId: true,
          instances: true,
          app: { select: { name: true, deletion: { select: { appId: true } } } },
        },
      },
    },
    orderBy: [{ placement: { appId: 'asc' } }, { placement: { environmentId: 'asc' } }],
  });
  const rows = placed.map(({ placement, ...row }) => ({ ...placement, ...row }));
  const appIds = [...new Set(rows.map(({ appId }) => appId))];
  const domains = await tx.domain.findMany({
    where: { organizationId, appId: { in: appIds } },
    select: { appId: true, environmentId: true, host: true, pathPrefix: true, policy: true },
    orderBy: [{ host: 'asc' }, { pathPrefix: 'asc' }],
  });
  const hostRows = await tx.hostPolicy.findMany({
    where: { organizationId, host: { in: domains.map(({ host }) => host) } },
  });
  const hostPolicies = new Map(hostRows.map(({ host, policy }) => [host, hostPolicySchema.parse(policy)]));
  const domainsOf = Map.groupBy(domains, placementKey);
  const newest = new Map((await loadNewestSettings(ctx, appIds)).map((row) => [placementKey(row), row.settings]));
  return rows.map(({ app, ...row }) => ({
    ...row,
    appName: app.name,
    isDeleted: app.deletion !== null,
    settings: newest.get(placementKey(row)) ?? defaultSettings,
    domains: (domainsOf.get(placementKey(row)) ?? []).map(({ host, pathPrefix, policy }) => ({
      host,
      pathPrefix,
      policy: storedPolicySchema.parse(policy),
      hostPolicy: hostPolicies.get(host) ?? hostPolicySchema.parse({}),
    })),
  }));
}
