// Transfers an organization to another member.
import { recordAudit } from '../audit/index.ts';
import { AppError, actorUserId, type Ctx, notifyChange } from '../kernel/index.ts';
import { lockMembership, requireMemberRow, revokeInvitationsBy } from './store.ts';

/** Hands the organization over: the other becomes its owner, the actor an admin. */
export async function transferOrganization(
  ctx: Ctx,
  input: { readonly memberId: string; readonly confirmName: string },
): Promise<void> {
  await lockMembership(ctx);
  const organization = await ctx.tx.organization.findUnique({
    where: { id: ctx.organizationId },
    select: { name: true },
  });
  if (organization === null) throw new AppError('organization.not_found');
  if (organization.name !== input.confirmName.trim()) throw new AppError('organization.confirm_mismatch');
  const heir = await requireMemberRow(ctx, { id: input.memberId });
  const self = await requireMemberRow(ctx, { userId: actorUserId(ctx.actor) ?? '' });
  if (heir.id === self.id) throw new AppError('member.yourself');
  if (self.role !== 'owner') throw new AppError('permission.denied', { permission: 'organization.transfer' });
  await ctx.tx.member.update({ where: { id: heir.id }, data: { role: 'owner' } });
  await ctx.tx.member.update({ where: { id: self.id }, data: { role: 'admin' } });
  // One for an owner would bring the old owner back by another account.
  await revokeInvitationsBy(ctx, self.userId);
  await recordAudit(ctx, {
    action: 'organization.transfer',
    target: { kind: 'organization', id: ctx.organizationId, label: organization.name },
    before: { owner: self.label, role: heir.role },
    after: { owner: heir.label, role: 'owner' },
  });
  for (const { id } of [heir, self]) await notifyChange(ctx, { kind: 'member', id });
}
