// Lists built-in and custom roles, with the number of their holders.
import { parseId } from '@fairlead/contract/ids';
import type { Ctx } from '../kernel/index.ts';
import { knownPermissions } from './load-rights.ts';
import { permissionsOf } from './rules.ts';
import { type RoleList, roleSchema } from './schema.ts';

export async function listRoles(ctx: Ctx): Promise<RoleList> {
  const { organizationId } = ctx;
  const rows = await ctx.tx.customRole.findMany({
    where: { organizationId },
    orderBy: [{ name: 'asc' }, { id: 'asc' }],
  });
  const holders = await ctx.tx.$queryRaw<{ role: string; count: number }[]>`
    SELECT role, count(DISTINCT "memberId")::int AS count FROM (
      SELECT role, id AS "memberId" FROM member WHERE organization_id = ${organizationId}
      UNION ALL SELECT role, member_id FROM role_grant WHERE organization_id = ${organizationId}
    ) AS held GROUP BY role`;
  const holdersOf = (role: string) => holders.find((each) => each.role === role)?.count ?? 0;
  return {
    builtIn: roleSchema.options.map((role) => ({ role, permissions: permissionsOf(role), holders: holdersOf(role) })),
    custom: rows.map(({ id, name, permissions }) => ({
      id: parseId('rol', id),
      name,
      permissions: knownPermissions(permissions),
      holders: holdersOf(id),
    })),
  };
}
