// Checks role assignments.
// Invariant: a member assigns or removes only permissions that they hold, and only an owner makes owners.
import { AppError, type OrganizationCtx } from '../kernel/index.ts';
import { knownPermissions } from './load-rights.ts';
import { may, type Rights, type Scope, wholeOrganization } from './rights.ts';
import { permissionsOf } from './rules.ts';
import { type MemberRole, memberRoleSchema, type Permission, roleSchema } from './schema.ts';

/** Throws role.not_found for a custom role that the organization does not have. */
export async function permissionsOfRole(ctx: OrganizationCtx, role: MemberRole): Promise<Permission[]> {
  const builtIn = roleSchema.safeParse(role);
  if (builtIn.success) return permissionsOf(builtIn.data);
  // Locks the role, so that it is neither changed nor deleted between this check and the commit of the assignment.
  const [row] = await ctx.tx.$queryRaw<{ permissions: string[] }[]>`
    SELECT permissions FROM custom_role WHERE id = ${role} AND organization_id = ${ctx.organizationId} FOR SHARE`;
  if (row === undefined) throw new AppError('role.not_found', { roleId: role });
  return knownPermissions(row.permissions);
}

export function requireHolds(by: Rights, permissions: readonly Permission[], scope: Scope = wholeOrganization): void {
  const beyond = permissions.find((permission) => !may(by, permission, scope));
  if (beyond !== undefined) throw new AppError('role.beyond_own', { permission: beyond });
}

/**
 * May `by` turn a member's role from one into another? Null: the member comes or goes. Throws role.owner_only,
 * role.beyond_own or role.not_found.
 */
export async function requireMayAssign(
  ctx: OrganizationCtx,
  by: Rights,
  change: { readonly from: MemberRole | null; readonly to: MemberRole | null },
  scope: Scope = wholeOrganization,
): Promise<void> {
  for (const role of [change.from, change.to]) {
    if (role === null) continue;
    if (role === 'owner' && !by.isOwner) throw new AppError('role.owner_only');
    requireHolds(by, await permissionsOfRole(ctx, role), scope);
  }
}

/** Checks that `by` may end all that a member holds: their role and their grants. Throws as requireMayAssign does. */
export async function requireMayRemove(
  ctx: OrganizationCtx,
  by: Rights,
  member: { readonly id: string; readonly role: MemberRole },
): Promise<void> {
  await requireMayAssign(ctx, by, { from: member.role, to: null });
  const grants = await ctx.tx.roleGrant.findMany({
    where: { memberId: member.id, organizationId: ctx.organizationId },
    select: { role: true, projectId: true, environmentId: true, environment: { select: { projectId: true } } },
  });
  for (const { role, projectId, environmentId, environment } of grants) {
    const scope = { projectId: projectId ?? environment?.projectId ?? null, environmentId };
    await requireMayAssign(ctx, by, { from: memberRoleSchema.parse(role), to: null }, scope);
  }
}

/** Throws member.last_owner if this member is the only owner. Concurrent callers wait for this transaction. */
export async function requireAnotherOwner(ctx: OrganizationCtx, memberId: string): Promise<void> {
  const owners = await ctx.tx.$queryRaw<{ id: string }[]>`
    SELECT id FROM member WHERE organization_id = ${ctx.organizationId} AND role = 'owner' ORDER BY id FOR UPDATE`;
  if (!owners.some(({ id }) => id !== memberId)) throw new AppError('member.last_owner');
}
