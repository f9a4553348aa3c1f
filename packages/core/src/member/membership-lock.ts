// Locks an organization's memberships and their roles.
import { AppError, type Ctx } from '../kernel/index.ts';

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
