// Lists a person's memberships.
import type { SystemCtx } from '../kernel/index.ts';
import { loadRights } from '../role/index.ts';
import type { Membership } from './schema.ts';

/** Every organization a person belongs to, by name. System scope, because it spans organizations. */
export async function listMemberships(ctx: SystemCtx, input: { userId: string }): Promise<Membership[]> {
  const memberships = await loadRights(ctx, input);
  return memberships.map((membership) => ({
    id: membership.organizationId,
    name: membership.organizationName,
    slug: membership.organizationSlug,
    role: membership.role,
    roleName: membership.customName ?? membership.role,
    permissions: [...membership.rights.organization],
    requiresTwoFactor: membership.requiresTwoFactor,
    deleteAt: membership.deleteAt,
    granted: membership.held
      .filter(({ projectId, environmentId }) => projectId !== null || environmentId !== null)
      .map(({ projectId, environmentId, permissions }) => ({
        projectId,
        environmentId,
        permissions: [...permissions],
      })),
  }));
}
