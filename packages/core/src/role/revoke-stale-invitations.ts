// Revokes stale invitations after their sender lost rights.
// Invariant: an invitation never gives a role that its sender could not assign now.
import { type OrganizationId, parseId } from '@fairlead/contract/ids';
import { recordAudit } from '../audit/index.ts';
import { AppError, type Ctx, notifyChange, type OrganizationCtx, type SystemCtx } from '../kernel/index.ts';
import { loadRights } from './load-rights.ts';
import { requireMayAssign } from './role-assignment.ts';
import { type MemberRole, memberRoleSchema } from './schema.ts';

/** True if the user could assign this role in the whole organization now. */
export async function mayStillAssign(
  ctx: OrganizationCtx | (SystemCtx & { readonly organizationId: OrganizationId }),
  input: { readonly userId: string; readonly role: MemberRole },
): Promise<boolean> {
  const [membership] = await loadRights(ctx, { userId: input.userId, organizationId: ctx.organizationId });
  if (membership === undefined) return false;
  try {
    await requireMayAssign(ctx, membership.rights, { from: null, to: input.role });
    return true;
  } catch (error) {
    if (error instanceof AppError) return false;
    throw error;
  }
}

/**
 * Revokes invitations that their sender could not make now. Call it after a role, a grant or a role's permissions lost
 * rights.
 */
export async function revokeStaleInvitations(ctx: Ctx): Promise<void> {
  const { organizationId } = ctx;
  const open = await ctx.tx.invitation.findMany({
    where: { organizationId, acceptedAt: null, revokedAt: null, invitedByUserId: { not: null } },
    select: { id: true, email: true, role: true, invitedByUserId: true },
  });
  for (const { id, email, role, invitedByUserId } of open) {
    const invitation = { userId: invitedByUserId ?? '', role: memberRoleSchema.parse(role) };
    if (await mayStillAssign(ctx, invitation)) continue;
    await ctx.tx.invitation.updateMany({ where: { id, organizationId }, data: { revokedAt: ctx.clock.now() } });
    await recordAudit(ctx, {
      action: 'invitation.revoke',
      target: { kind: 'invitation', id, label: email ?? 'by link' },
      before: { email, role },
    });
    await notifyChange(ctx, { kind: 'member', id: parseId('inv', id) });
  }
}
