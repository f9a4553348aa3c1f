// Loads the former releases that a server runs behind their deployment URLs, and the URLs of the live ones.
import type { OrganizationId } from '@fairlead/contract/ids';
import { deploymentHost, findUrlBases, findUrlReleases } from '../deployment-url/index.ts';
import { findUnservedHosts } from '../host/index.ts';
import { forOrganization, type OrganizationCtx, type SystemCtx } from '../kernel/index.ts';
import { storedPolicySchema } from '../traffic/index.ts';
import type { LoadedPlacement } from './load-placements.ts';
import { placementKey, releaseColumns, type StoredRelease } from './stored-release.ts';
import type { DomainRow } from './to-desired-state.ts';

export interface LoadedDeploymentUrl {
  readonly placement: LoadedPlacement;
  readonly release: StoredRelease;
  readonly host: string;
  /** A row for each path of the app's own name, with `host`. */
  readonly domains: readonly DomainRow[];
}

/**
 * Returns nothing for placements without a base, and for those whose base domain leads to another server. The newest release of
 * each placement comes first, then the second newest of each.
 */
export async function loadDeploymentUrls(
  ctx: SystemCtx,
  organizationId: OrganizationId,
  { serverId, placements }: { readonly serverId: string; readonly placements: readonly LoadedPlacement[] },
): Promise<LoadedDeploymentUrl[]> {
  const scoped = forOrganization(ctx, organizationId);
  const bases = await findUrlBases(scoped, placements);
  const served = new Map(
    placements.flatMap((placement) => {
      const base = bases.get(placementKey(placement));
      if (base === undefined || typeof base === 'string' || base.serverId !== serverId) return [];
      // The policies of its own name guard the app: without that name here, nothing would.
      const own = placement.domains.filter(({ host }) => host === base.host);
      const root = own.find(({ pathPrefix }) => pathPrefix === '/');
      return root === undefined ? [] : [[placementKey(placement), { placement, root, own }] as const];
    }),
  );
  const foreign = await loadForeignPaths(scoped, [...served.values()]);
  const newest = await findUrlReleases(
    scoped,
    [...served.values()].map(({ placement }) => placement),
  );
  const rows = await ctx.tx.release.findMany({
    where: { organizationId, id: { in: newest.map(({ id }) => id) } },
    select: releaseColumns,
  });
  const releases = new Map(rows.map((row) => [row.id, row]));
  const all = newest.flatMap(({ id, ...row }) => {
    const release = releases.get(id);
    const here = served.get(placementKey(row));
    if (release === undefined || here === undefined) return [];
    const { placement, root, own } = here;
    const host = deploymentHost(root.host, row.number);
    const paths = [...own, ...(foreign.get(placement) ?? [])];
    return [{ placement, release, host, domains: paths.map((path) => ({ ...path, host })) }];
  });
  const hosts = all.map(({ host }) => host);
  const unserved = await findUnservedHosts(ctx, organizationId, hosts);
  // A domain from before such names were reserved keeps its host.
  const taken = await ctx.tx.domain.findMany({
    where: { organizationId, host: { in: hosts } },
    select: { host: true },
  });
  const skipped = new Set([...unserved, ...taken.map(({ host }) => host)]);
  const found = all.filter(({ host }) => !skipped.has(host));
  const ranks = [...Map.groupBy(found, ({ placement }) => placement).values()].flatMap((group) => [...group.entries()]);
  return ranks.sort(([a], [b]) => a - b).map(([, url]) => url);
}

interface NamedPlacement {
  readonly placement: LoadedPlacement;
  /** The app's own name below the base domain. */
  readonly root: DomainRow;
  /** All of its paths that lead to the app. */
  readonly own: readonly DomainRow[];
}

/** Refuses every address: these paths lead to another app, and nothing says who may reach them at this one. */
const closed = storedPolicySchema.parse({ deny: ['0.0.0.0/0', '::/0'] });

/** Finds the paths of the names that lead to other apps, also to deleted ones. */
async function loadForeignPaths(
  { tx, organizationId }: OrganizationCtx,
  served: readonly NamedPlacement[],
): Promise<Map<LoadedPlacement, DomainRow[]>> {
  const hosts = served.map(({ root }) => root.host);
  const rows = await tx.domain.findMany({
    where: { organizationId, host: { in: hosts } },
    select: { host: true, pathPrefix: true },
    orderBy: [{ host: 'asc' }, { pathPrefix: 'asc' }],
  });
  const paths = Map.groupBy(rows, ({ host }) => host);
  return new Map(
    served.map(({ placement, root, own }) => {
      const ofName = paths.get(root.host) ?? [];
      const others = ofName.filter(({ pathPrefix }) => own.every((row) => row.pathPrefix !== pathPrefix));
      return [placement, others.map(({ pathPrefix }) => ({ ...root, pathPrefix, policy: closed }))];
    }),
  );
}
