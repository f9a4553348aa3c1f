// Owns the end of a membership: shown out by somebody who may, or left by oneself.
import { recordAudit } from '../audit/index.ts';
import { AppError, actorUserId, type Ctx } from '../kernel/index.ts';
import { lockMembership, requirePower } from './power.ts';
import type { DeleteMemberInput, MemberIdentity } from './schema.ts';
import { endMembership, requireMemberRow, requireOtherOwner } from './store.ts';

/** Throws member.above_you, member.last_owner, or member.yourself: leaving is its own verb. */
export async function deleteMember(ctx: Ctx, input: DeleteMemberInput): Promise<MemberIdentity> {
  await lockMembership(ctx);
  const member = await requireMemberRow(ctx, { id: input.memberId });
  if (member.userId === actorUserId(ctx.actor)) throw new AppError('member.yourself');
  await requirePower(ctx, [member.role]);
  await requireOtherOwner(ctx, member);
  await endMembership(ctx, member);
  await recordAudit(ctx, {
    action: 'member.delete',
    target: { kind: 'member', id: member.id, label: member.label },
    before: { role: member.role },
  });
  return { memberId: input.memberId };
}

/** Ends the actor's own membership. Throws member.last_owner. */
export async function leaveOrganization(ctx: Ctx): Promise<void> {
  await lockMembership(ctx);
  const userId = actorUserId(ctx.actor);
  if (userId === null) throw new AppError('member.not_found');
  const member = await requireMemberRow(ctx, { userId });
  await requireOtherOwner(ctx, member);
  await endMembership(ctx, member);
  await recordAudit(ctx, {
    action: 'organization.leave',
    target: { kind: 'member', id: member.id, label: member.label },
    before: { role: member.role },
  });
}
