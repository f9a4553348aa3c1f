// Revokes a service account's token.
import type { Ctx } from '../kernel/index.ts';
import { endToken, type TokenRef } from '../token/index.ts';

export async function revokeServiceToken(ctx: Ctx, input: TokenRef): Promise<TokenRef> {
  await endToken(ctx, input.tokenId, { serviceAccountId: { not: null } });
  return input;
}
