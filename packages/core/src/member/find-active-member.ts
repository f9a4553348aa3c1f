// Owns finding who somebody is in an organization. Must never tell an unknown organization from a foreign one.
import type { MemberId, OrganizationId } from '@fairlead/contract/ids';
import type { SystemCtx } from '../kernel/index.ts';
import { loadRights, type MemberRole, type Rights } from '../role/index.ts';

/** Somebody's place in the organization of a request, and what they may do there. */
export interface ActiveMember {
  readonly organizationId: OrganizationId;
  readonly organizationSlug: string;
  readonly memberId: MemberId;
  readonly userId: string;
  readonly role: MemberRole;
  readonly rights: Rights;
}

/** Null when there is no such organization or the person is not in it. System scope: the organization is not known yet. */
export async function findActiveMember(
  ctx: SystemCtx,
  input: { userId: string; organizationSlug: string },
): Promise<ActiveMember | null> {
  const [found] = await loadRights(ctx, input);
  if (found === undefined) return null;
  const { organizationId, organizationSlug, memberId, role, rights } = found;
  return { organizationId, organizationSlug, memberId, userId: input.userId, role, rights };
}
