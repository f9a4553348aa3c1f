// Creates a personal API token.
import { AppError, type Ctx } from '../kernel/index.ts';
import { may, mayAnywhere, type Permission, type Rights } from '../role/index.ts';
import type { CreatedToken, CreateTokenInput } from './schema.ts';
import { insertToken, type TokenWhere } from './store.ts';

/**
 * Creates a token. At its use it never has more rights than its person; at creation it may only get permissions that
 * they have now.
 */
export async function createToken(ctx: Ctx, input: CreateTokenInput, own: Rights): Promise<CreatedToken> {
  const { actor } = ctx;
  if (actor.kind !== 'member') throw new AppError('token.person_only');
  return insertToken(ctx, { userId: actor.userId }, input, (where) => requireOwn(own, input.permissions, where));
}

/**
 * Throws token.beyond_own. Without a scope, it may get any permission that is held in some scope: it never opens more
 * than that.
 */
export function requireOwn(own: Rights, wanted: readonly Permission[], where: TokenWhere = null): void {
  const beyond = wanted.find((permission) =>
    where === null ? !mayAnywhere(own, permission) : !may(own, permission, where),
  );
  if (beyond !== undefined) throw new AppError('token.beyond_own', { permission: beyond });
}
