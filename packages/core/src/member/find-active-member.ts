// Finds a person's active membership in an organization.
// Invariant: an unknown organization and a foreign one give the same answer.
import type { MemberId, OrganizationId } from '@fairlead/contract/ids';
import type { SystemCtx } from '../kernel/index.ts';
import { loadRights, type MemberRole, type Rights } from '../role/index.ts';

/** Membership of a person in the request's organization, with their rights. */
export interface ActiveMember {
  readonly organizationId: OrganizationId;
  readonly organizationSlug: string;
  readonly memberId: MemberId;
  readonly userId: string;
  readonly role: MemberRole;
  readonly rights: Rights;
  /** True if the organization requires a second factor of its members. */
  readonly requiresTwoFactor: boolean;
}

/** Null when there is no such organization, it is ending, or the person is not in it. System scope: it is not known yet. */
export async function findActiveMember(
  ctx: SystemCtx,
  input: { userId: string; organizationSlug: string },
): Promise<ActiveMember | null> {
  const [found] = await loadRights(ctx, input);
  if (found === undefined) return null;
  const { organizationId, organizationSlug, memberId, role, rights, requiresTwoFactor } = found;
  return { organizationId, organizationSlug, memberId, userId: input.userId, role, rights, requiresTwoFactor };
}
