// Revokes another member's token, for managers of members: it may have leaked while its owner is away.
import type { Ctx } from '../kernel/index.ts';
import type { TokenRef } from './schema.ts';
import { endToken } from './store.ts';

/** Revokes the token of a member with any role: this takes no right from them. Throws token.not_found. */
export async function revokeMemberToken(ctx: Ctx, input: TokenRef): Promise<TokenRef> {
  await endToken(ctx, input.tokenId, { userId: { not: null } });
  return input;
}
