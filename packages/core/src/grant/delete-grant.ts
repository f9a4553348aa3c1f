// Revokes a member's grant.
import { recordAudit } from '../audit/index.ts';
import { AppError, type Ctx } from '../kernel/index.ts';
import { memberRoleSchema, type Rights, requireMayAssign, revokeStaleInvitations, type Scope } from '../role/index.ts';
import type { GrantRef } from './schema.ts';

/** Nobody takes from others what they could not give. */
export async function deleteGrant(ctx: Ctx, input: GrantRef, by: Rights): Promise<GrantRef> {
  const { organizationId } = ctx;
  const { grantId } = input;
  const row = await ctx.tx.roleGrant.findFirst({
    where: { id: grantId, organizationId },
    select: {
      memberId: true,
      role: true,
      projectId: true,
      environmentId: true,
      environment: { select: { projectId: true } },
      member: { select: { user: { select: { email: true } } } },
    },
  });
  if (row === null) throw new AppError('grant.not_found', { grantId });
  const role = memberRoleSchema.parse(row.role);
  const scope: Scope = {
    projectId: row.projectId ?? row.environment?.projectId ?? null,
    environmentId: row.environmentId,
  };
  await requireMayAssign(ctx, by, { from: role, to: null }, scope);
  await ctx.tx.roleGrant.deleteMany({ where: { id: grantId, organizationId } });
  await revokeStaleInvitations(ctx);
  await recordAudit(ctx, {
    action: 'grant.delete',
    target: { kind: 'member', id: row.memberId, label: row.member.user.email },
    before: { role, ...scope },
  });
  return { grantId };
}
