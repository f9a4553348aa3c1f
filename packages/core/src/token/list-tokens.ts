// Owns the list of a person's own tokens in an organization.
import { AppError, type Ctx } from '../kernel/index.ts';
import type { TokenView } from './schema.ts';
import { tokenColumns, toTokenView } from './store.ts';

export async function listTokens(ctx: Ctx): Promise<{ items: TokenView[] }> {
  const { actor, organizationId } = ctx;
  if (actor.kind !== 'member') throw new AppError('token.person_only');
  const rows = await ctx.tx.apiToken.findMany({
    where: { organizationId, userId: actor.userId, revokedAt: null },
    select: tokenColumns,
    orderBy: [{ createdAt: 'desc' }, { id: 'asc' }],
  });
  const now = ctx.clock.now();
  return { items: rows.map((row) => toTokenView(row, now)) };
}
