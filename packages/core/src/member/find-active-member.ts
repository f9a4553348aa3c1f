// Owns finding who somebody is in an organization. Must never tell an unknown organization from a foreign one.
import { type OrganizationId, parseId } from '@fairlead/contract/ids';
import type { SystemCtx } from '../kernel/index.ts';
import { type Role, roleSchema } from '../role/index.ts';

/** Somebody's place in the organization of a request. */
export interface ActiveMember {
  readonly organizationId: OrganizationId;
  readonly organizationSlug: string;
  readonly userId: string;
  readonly role: Role;
  /** The organization asks its members for a second factor. */
  readonly requiresTwoFactor: boolean;
}

/** Null when there is no such organization, it is ending, or the person is not in it. System scope: the organization is not known yet. */
export async function findActiveMember(
  ctx: SystemCtx,
  input: { userId: string; organizationSlug: string },
): Promise<ActiveMember | null> {
  const row = await ctx.tx.member.findFirst({
    where: { userId: input.userId, organization: { slug: input.organizationSlug, endingAt: null } },
    select: { organizationId: true, role: true, organization: { select: { requiresTwoFactor: true } } },
  });
  if (row === null) return null;
  return {
    organizationId: parseId('org', row.organizationId),
    organizationSlug: input.organizationSlug,
    userId: input.userId,
    role: roleSchema.parse(row.role),
    requiresTwoFactor: row.organization.requiresTwoFactor,
  };
}
