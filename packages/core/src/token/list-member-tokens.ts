// Lists the personal tokens of all members of an organization, for managers of members.
import type { Ctx } from '../kernel/index.ts';
import type { MemberTokenList } from './schema.ts';
import { tokenColumns, toTokenView } from './store.ts';

/** Newest first. Also of those who have left: such a token opens nothing, but would again if they came back. */
export async function listMemberTokens(ctx: Ctx): Promise<MemberTokenList> {
  const { organizationId } = ctx;
  const rows = await ctx.tx.apiToken.findMany({
    where: { organizationId, userId: { not: null }, revokedAt: null },
    select: { ...tokenColumns, user: { select: { id: true, name: true, email: true } } },
    orderBy: [{ createdAt: 'desc' }, { id: 'asc' }],
  });
  const members = await ctx.tx.member.findMany({ where: { organizationId }, select: { userId: true } });
  const present = new Set(members.map(({ userId }) => userId));
  const now = ctx.clock.now();
  return {
    items: rows.flatMap(({ user, ...row }) =>
      user === null
        ? []
        : [
            {
              ...toTokenView(row, now),
              owner: { userId: user.id, name: user.name, email: user.email, isMember: present.has(user.id) },
            },
          ],
    ),
  };
}
