// Reads one member before a change, and ends a membership with everything that depends on it.
import { AppError, type Ctx, notifyChange } from '../kernel/index.ts';
import { type MemberRole, memberRoleSchema } from '../role/index.ts';

export interface MemberRow {
  readonly id: string;
  readonly userId: string;
  readonly role: MemberRole;
  readonly label: string;
}

export async function requireMemberRow(ctx: Ctx, where: { id: string } | { userId: string }): Promise<MemberRow> {
  const row = await ctx.tx.member.findFirst({
    where: { organizationId: ctx.organizationId, ...where },
    select: { id: true, userId: true, role: true, user: { select: { name: true, email: true } } },
  });
  if (row === null) throw new AppError('member.not_found');
  return {
    id: row.id,
    userId: row.userId,
    role: memberRoleSchema.parse(row.role),
    label: `${row.user.name} (${row.user.email})`,
  };
}

/**
 * Ends a membership and revokes the invitations that this person sent, so that a removed member leaves no way back in.
 * Streams end at their next check.
 */
export async function endMembership(ctx: Ctx, member: MemberRow): Promise<void> {
  await ctx.tx.member.delete({ where: { id: member.id } });
  await revokeInvitationsBy(ctx, member.userId);
  await notifyChange(ctx, { kind: 'member', id: member.id });
}

export async function revokeInvitationsBy(ctx: Ctx, userId: string): Promise<void> {
  await ctx.tx.invitation.updateMany({
    where: { organizationId: ctx.organizationId, invitedByUserId: userId, acceptedAt: null, revokedAt: null },
    data: { revokedAt: ctx.clock.now() },
  });
}
