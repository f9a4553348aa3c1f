// Updates a custom role. Changes take effect at once for all of its holders.
import { recordAudit } from '../audit/index.ts';
import { AppError, type Ctx, isUniqueViolation } from '../kernel/index.ts';
import { knownPermissions } from './load-rights.ts';
import { revokeStaleInvitations } from './revoke-stale-invitations.ts';
import type { Rights } from './rights.ts';
import { requireHolds } from './role-assignment.ts';
import type { RoleRef, UpdateRoleInput } from './schema.ts';

/** Changes a custom role. The caller must hold the permissions that it loses or gains, but not the rest. */
export async function updateRole(ctx: Ctx, input: UpdateRoleInput, by: Rights): Promise<RoleRef> {
  const { organizationId } = ctx;
  const { roleId } = input;
  const [row] = await ctx.tx.$queryRaw<{ name: string; permissions: string[] }[]>`
    SELECT name, permissions FROM custom_role WHERE id = ${roleId} AND organization_id = ${organizationId} FOR UPDATE`;
  if (row === undefined) throw new AppError('role.not_found', { roleId });
  const before = { name: row.name, permissions: knownPermissions(row.permissions) };
  const after = { name: input.name ?? before.name, permissions: input.permissions ?? before.permissions };
  requireHolds(by, [
    ...after.permissions.filter((permission) => !before.permissions.includes(permission)),
    ...before.permissions.filter((permission) => !after.permissions.includes(permission)),
  ]);
  try {
    await ctx.tx.customRole.updateMany({ where: { id: roleId, organizationId }, data: after });
  } catch (error) {
    if (isUniqueViolation(error)) throw new AppError('role.name_taken', { name: after.name }, { cause: error });
    throw error;
  }
  await revokeStaleInvitations(ctx);
  await recordAudit(ctx, {
    action: 'role.update',
    target: { kind: 'role', id: roleId, label: after.name },
    before,
    after,
  });
  return { roleId };
}
