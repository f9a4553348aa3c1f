// Lists open invitations, expired ones too, because they can be renewed.
import { parseId } from '@fairlead/contract/ids';
import type { Ctx } from '../kernel/index.ts';
import { memberRoleSchema } from '../role/index.ts';
import type { InvitationView } from './schema.ts';

export async function listInvitations(ctx: Ctx): Promise<InvitationView[]> {
  const { organizationId } = ctx;
  const rows = await ctx.tx.invitation.findMany({
    where: { organizationId, acceptedAt: null, revokedAt: null },
    orderBy: [{ createdAt: 'desc' }, { id: 'asc' }],
  });
  const members = await ctx.tx.member.findMany({
    where: { organizationId, userId: { in: rows.flatMap(({ invitedByUserId }) => invitedByUserId ?? []) } },
    select: { userId: true, user: { select: { name: true } } },
  });
  const names = new Map(members.map(({ userId, user }) => [userId, user.name]));
  const now = ctx.clock.now();
  return rows.map((row) => ({
    id: parseId('inv', row.id),
    email: row.email,
    role: memberRoleSchema.parse(row.role),
    invitedBy: names.get(row.invitedByUserId ?? '') ?? null,
    createdAt: row.createdAt,
    expiresAt: row.expiresAt,
    expired: row.expiresAt <= now,
    mailed: row.email === null ? null : row.mailedAt !== null,
  }));
}
