// Locks memberships, reads one member before a change, and ends a membership with everything that depends on it.
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

/**
 * Changes of members and invitations come one after another, and see each other. Throws permission.denied when the actor
 * is no longer what they were when the request began: what they may do was looked at then.
 */
export async function lockMembership(ctx: Ctx): Promise<void> {
  const { organizationId, actor } = ctx;
  await ctx.tx.$queryRaw`SELECT id FROM organization WHERE id = ${organizationId} FOR NO KEY UPDATE`;
  if (actor.kind !== 'member') return;
  const now = await ctx.tx.member.findFirst({
    where: { organizationId, userId: actor.userId },
    select: { role: true },
  });
  if (now?.role !== actor.role) throw new AppError('permission.denied', { permission: 'member.write' });
}
