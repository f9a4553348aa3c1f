// Owns where a person belongs.
import { parseId } from '@fairlead/contract/ids';
import type { SystemCtx } from '../kernel/index.ts';
import { permissionsOf, roleSchema } from '../role/index.ts';
import type { Membership } from './schema.ts';

/** Every organization a person belongs to, by name. System scope, because it spans organizations. */
export async function listMemberships(ctx: SystemCtx, input: { userId: string }): Promise<Membership[]> {
  const rows = await ctx.tx.member.findMany({
    where: { userId: input.userId, organization: { endingAt: null } },
    select: {
      role: true,
      organization: { select: { id: true, name: true, slug: true, requiresTwoFactor: true, deleteAt: true } },
    },
    orderBy: { organization: { name: 'asc' } },
  });
  return rows.map(({ role, organization }) => {
    const known = roleSchema.parse(role);
    return {
      id: parseId('org', organization.id),
      name: organization.name,
      slug: organization.slug,
      role: known,
      permissions: permissionsOf(known),
      requiresTwoFactor: organization.requiresTwoFactor,
      deleteAt: organization.deleteAt,
    };
  });
}
