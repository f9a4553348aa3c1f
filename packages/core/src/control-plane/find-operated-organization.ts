// Decides who operates this control plane: the owners of the organization that was set up with the setup token.
import { type OrganizationId, parseId } from '@fairlead/contract/ids';
import type { SystemCtx } from '../kernel/index.ts';

/**
 * Returns the organization in which a person operates the control plane; null for everyone else. Deleting that
 * organization makes no owner of another one an operator.
 */
export async function findOperatedOrganization(
  { tx }: SystemCtx,
  { userId }: { readonly userId: string },
): Promise<OrganizationId | null> {
  const member = await tx.member.findFirst({
    where: { userId, role: 'owner', organization: { setupTokens: { some: { usedAt: { not: null } } } } },
    select: { organizationId: true },
    orderBy: { createdAt: 'asc' },
  });
  return member === null ? null : parseId('org', member.organizationId);
}
