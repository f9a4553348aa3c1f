// Deletes a custom role.
import { recordAudit } from '../audit/index.ts';
import { AppError, type Ctx } from '../kernel/index.ts';
import { knownPermissions } from './load-rights.ts';
import type { RoleRef } from './schema.ts';

/** Throws role.in_use while a member or a grant has it, because its deletion must not change rights silently. */
export async function deleteRole(ctx: Ctx, input: RoleRef): Promise<RoleRef> {
  const { organizationId } = ctx;
  const { roleId } = input;
  const [row] = await ctx.tx.$queryRaw<{ name: string; permissions: string[] }[]>`
    SELECT name, permissions FROM custom_role WHERE id = ${roleId} AND organization_id = ${organizationId} FOR UPDATE`;
  if (row === undefined) throw new AppError('role.not_found', { roleId });
  const where = { where: { organizationId, role: roleId } };
  if ((await ctx.tx.member.count(where)) + (await ctx.tx.roleGrant.count(where)) > 0) {
    throw new AppError('role.in_use', { roleId });
  }
  await ctx.tx.customRole.deleteMany({ where: { id: roleId, organizationId } });
  await recordAudit(ctx, {
    action: 'role.delete',
    target: { kind: 'role', id: roleId, label: row.name },
    before: { name: row.name, permissions: knownPermissions(row.permissions) },
  });
  return { roleId };
}
