// Owns a person's making of a token for their own programs.
import { AppError, type Ctx } from '../kernel/index.ts';
import type { Permission } from '../role/index.ts';
import type { CreatedToken, CreateTokenInput } from './schema.ts';
import { insertToken } from './store.ts';

/** The token never does more than its person may at the time it is used; here only what they may now can be asked for. */
export async function createToken(
  ctx: Ctx,
  input: CreateTokenInput,
  own: ReadonlySet<Permission>,
): Promise<CreatedToken> {
  const { actor } = ctx;
  if (actor.kind !== 'member') throw new AppError('token.person_only');
  requireOwn(own, input.permissions);
  return insertToken(ctx, { userId: actor.userId }, input);
}

export function requireOwn(own: ReadonlySet<Permission>, wanted: readonly Permission[]): void {
  const beyond = wanted.find((permission) => !own.has(permission));
  if (beyond !== undefined) throw new AppError('token.beyond_own', { permission: beyond });
}
