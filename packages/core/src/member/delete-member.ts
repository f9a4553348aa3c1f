// Ends a membership: a member leaves, or another member with the right removes them.
import { recordAudit } from '../audit/index.ts';
import { AppError, actorUserId, type Ctx } from '../kernel/index.ts';
import { type Rights, requireAnotherOwner, requireMayRemove } from '../role/index.ts';
import type { DeleteMemberInput, MemberIdentity } from './schema.ts';
import { endMembership, lockMembership, requireMemberRow } from './store.ts';

/** Throws role.beyond_own, role.owner_only, member.last_owner, or member.yourself: leaving is a separate call. */
export async function deleteMember(ctx: Ctx, input: DeleteMemberInput, by: Rights): Promise<MemberIdentity> {
  await lockMembership(ctx);
  const member = await requireMemberRow(ctx, { id: input.memberId });
  if (member.userId === actorUserId(ctx.actor)) throw new AppError('member.yourself');
  await requireMayRemove(ctx, by, member);
  if (member.role === 'owner') await requireAnotherOwner(ctx, member.id);
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
  if (member.role === 'owner') await requireAnotherOwner(ctx, member.id);
  await endMembership(ctx, member);
  await recordAudit(ctx, {
    action: 'organization.leave',
    target: { kind: 'member', id: member.id, label: member.label },
    before: { role: member.role },
  });
}
