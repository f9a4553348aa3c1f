// Lists members.
import { parseId } from '@fairlead/contract/ids';
import type { Ctx } from '../kernel/index.ts';
import { memberRoleSchema } from '../role/index.ts';
import type { MemberView } from './schema.ts';

export async function listMembers(ctx: Ctx): Promise<{ items: MemberView[] }> {
  const rows = await ctx.tx.member.findMany({
    where: { organizationId: ctx.organizationId },
    select: { id: true, userId: true, role: true, createdAt: true, user: { select: { name: true, email: true } } },
    orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
  });
  return {
    items: rows.map((row) => ({
      id: parseId('mem', row.id),
      userId: row.userId,
      name: row.user.name,
      email: row.user.email,
      role: memberRoleSchema.parse(row.role),
      createdAt: row.createdAt,
    })),
  };
}
