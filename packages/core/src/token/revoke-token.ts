// Revokes one of a person's own tokens.
import { AppError, type Ctx } from '../kernel/index.ts';
import type { TokenRef } from './schema.ts';
import { endToken } from './store.ts';

export async function revokeToken(ctx: Ctx, input: TokenRef): Promise<TokenRef> {
  const { actor } = ctx;
  if (actor.kind !== 'member') throw new AppError('token.person_only');
  await endToken(ctx, input.tokenId, { userId: actor.userId });
  return input;
}
