// Owns the change of what a member may do.
import { recordAudit } from '../audit/index.ts';
import { actorUserId, type Ctx, notifyChange } from '../kernel/index.ts';
import { lockMembership, requirePower } from './power.ts';
import type { MemberIdentity, UpdateMemberInput } from './schema.ts';
import { requireMemberRow, requireOtherOwner, revokeInvitationsBy } from './store.ts';

/** Throws member.above_you when the role given or the role taken is more than the actor has, or member.last_owner. */
export async function updateMember(ctx: Ctx, input: UpdateMemberInput): Promise<MemberIdentity> {
  await lockMembership(ctx);
  const member = await requireMemberRow(ctx, { id: input.memberId });
  await requirePower(ctx, [member.role, input.role]);
  if (member.role === input.role) return { memberId: input.memberId };
  await requireOtherOwner(ctx, member);
  await ctx.tx.member.update({ where: { id: member.id }, data: { role: input.role } });
  // What they invited others to was within their old role.
  if (member.userId !== actorUserId(ctx.actor)) await revokeInvitationsBy(ctx, member.userId);
  await recordAudit(ctx, {
    action: 'member.update',
    target: { kind: 'member', id: member.id, label: member.label },
    before: { role: member.role },
    after: { role: input.role },
  });
  await notifyChange(ctx, { kind: 'member', id: member.id });
  return { memberId: input.memberId };
}
