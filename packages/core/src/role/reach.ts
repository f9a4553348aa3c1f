// Computes the reach of a permission, for lists.
// Invariant: the result equals that of `may` for each row alone.
import { Prisma } from '@fairlead/db';
import type { OrganizationCtx } from '../kernel/index.ts';
import type { Rights } from './rights.ts';
import type { Permission } from './schema.ts';

export interface Reach {
  /** In the organization as a whole; the ids count only without it. */
  readonly everywhere: boolean;
  readonly projectIds: readonly string[];
  readonly environmentIds: readonly string[];
}

/**
 * Reach over everything, also for callers without a person. The permission matrix tests find a list that wrongly keeps
 * this default.
 */
export const wholeReach: Reach = { everywhere: true, projectIds: [], environmentIds: [] };

export function reachOf(rights: Rights, permission: Permission): Reach {
  const holding = (places: ReadonlyMap<string, ReadonlySet<Permission>>) =>
    [...places].flatMap(([id, permissions]) => (permissions.has(permission) ? [id] : []));
  return {
    everywhere: rights.organization.has(permission),
    projectIds: holding(rights.projects),
    environmentIds: holding(rights.environments),
  };
}

/** Narrows a reach to one project, for a filter. Without a project it stays as it is; an unknown one leaves nothing. */
export async function reachWithin(
  { tx, organizationId }: OrganizationCtx,
  reach: Reach,
  projectId: string | undefined,
): Promise<Reach> {
  if (projectId === undefined) return reach;
  if (reach.everywhere || reach.projectIds.includes(projectId)) {
    return { everywhere: false, projectIds: [projectId], environmentIds: [] };
  }
  const rows = await tx.environment.findMany({
    where: { organizationId, projectId, id: { in: [...reach.environmentIds] } },
    select: { id: true },
  });
  return { everywhere: false, projectIds: [], environmentIds: rows.map(({ id }) => id) };
}

/** A condition on the columns that hold the ids of a row's project and environment. */
export function isReached(
  { everywhere, projectIds, environmentIds }: Reach,
  place: { readonly projectId: Prisma.Sql; readonly environmentId: Prisma.Sql },
): Prisma.Sql {
  if (everywhere) return Prisma.sql`true`;
  return Prisma.sql`(${place.projectId} = ANY(${[...projectIds]}::text[]) OR ${place.environmentId} = ANY(${[...environmentIds]}::text[]))`;
}

/** The same of environments, for Prisma's own queries. */
export function whereReached({ everywhere, projectIds, environmentIds }: Reach) {
  return everywhere ? {} : { OR: [{ projectId: { in: [...projectIds] } }, { id: { in: [...environmentIds] } }] };
}
