// Updates a member's role.
import { recordAudit } from '../audit/index.ts';
import { type Ctx, notifyChange } from '../kernel/index.ts';
import { type Rights, requireAnotherOwner, requireMayAssign, revokeStaleInvitations } from '../role/index.ts';
import type { MemberIdentity, UpdateMemberInput } from './schema.ts';
import { lockMembership, requireMemberRow } from './store.ts';

/** Throws role.beyond_own or role.owner_only when the role given or taken is more than the actor has, or member.last_owner. */
export async function updateMember(ctx: Ctx, input: UpdateMemberInput, by: Rights): Promise<MemberIdentity> {
  await lockMembership(ctx);
  const member = await requireMemberRow(ctx, { id: input.memberId });
  await requireMayAssign(ctx, by, { from: member.role, to: input.role });
  if (member.role === input.role) return { memberId: input.memberId };
  if (member.role === 'owner') await requireAnotherOwner(ctx, member.id);
  await ctx.tx.member.update({ where: { id: member.id }, data: { role: input.role } });
  // Their invitations were within their old role.
  await revokeStaleInvitations(ctx);
  await recordAudit(ctx, {
    action: 'member.update',
    target: { kind: 'member', id: member.id, label: member.label },
    before: { role: member.role },
    after: { role: input.role },
  });
  await notifyChange(ctx, { kind: 'member', id: member.id });
  return { memberId: input.memberId };
}
