// Owns the end of a token of somebody else, by whoever manages members: it may have leaked while its person is away.
import type { Ctx } from '../kernel/index.ts';
import type { TokenRef } from './schema.ts';
import { endToken } from './store.ts';

/** Whatever its person may do: ending it takes no right from them. Throws token.not_found. */
export async function revokeMemberToken(ctx: Ctx, input: TokenRef): Promise<TokenRef> {
  await endToken(ctx, input.tokenId, { userId: { not: null } });
  return input;
}
