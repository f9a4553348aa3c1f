// Lists service accounts with their tokens.
import { parseId } from '@fairlead/contract/ids';
import type { Ctx } from '../kernel/index.ts';
import { memberRoleSchema } from '../role/index.ts';
import { tokenColumns, toTokenView } from '../token/index.ts';
import type { ServiceAccountView } from './schema.ts';

export async function listServiceAccounts(ctx: Ctx): Promise<{ items: ServiceAccountView[] }> {
  const rows = await ctx.tx.serviceAccount.findMany({
    where: { organizationId: ctx.organizationId },
    select: {
      id: true,
      name: true,
      role: true,
      createdAt: true,
      tokens: { where: { revokedAt: null }, select: tokenColumns, orderBy: [{ createdAt: 'desc' }, { id: 'asc' }] },
    },
    orderBy: { name: 'asc' },
  });
  const now = ctx.clock.now();
  return {
    items: rows.map((row) => ({
      id: parseId('sva', row.id),
      name: row.name,
      role: memberRoleSchema.parse(row.role),
      createdAt: row.createdAt,
      tokens: row.tokens.map((token) => toTokenView(token, now)),
    })),
  };
}
