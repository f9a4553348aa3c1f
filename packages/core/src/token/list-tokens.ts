// Lists a person's own tokens in an organization.
import { AppError, type Ctx } from '../kernel/index.ts';
import { mayAnywhere, type Rights } from '../role/index.ts';
import { type TokenList, tokenPermissionSchema } from './schema.ts';
import { tokenColumns, toTokenView } from './store.ts';

export async function listTokens(ctx: Ctx, own: Rights): Promise<TokenList> {
  const { actor, organizationId } = ctx;
  if (actor.kind !== 'member') throw new AppError('token.person_only');
  const rows = await ctx.tx.apiToken.findMany({
    where: { organizationId, userId: actor.userId, revokedAt: null },
    select: tokenColumns,
    orderBy: [{ createdAt: 'desc' }, { id: 'asc' }],
  });
  const now = ctx.clock.now();
  return {
    items: rows.map((row) => toTokenView(row, now)),
    grantable: tokenPermissionSchema.options.filter((permission) => mayAnywhere(own, permission)),
  };
}
