// Owns the making of a service account's token.
import type { Ctx } from '../kernel/index.ts';
import { type Permission, permissionsOf } from '../role/index.ts';
import { type CreatedToken, insertToken, requireOwn } from '../token/index.ts';
import type { CreateServiceTokenInput } from './schema.ts';
import { requireServiceAccount } from './store.ts';

/** What is asked for must be within the account's role and, because the maker holds the token in hand, within theirs. */
export async function createServiceToken(
  ctx: Ctx,
  input: CreateServiceTokenInput,
  own: ReadonlySet<Permission>,
): Promise<CreatedToken> {
  const { serviceAccountId, ...token } = input;
  const account = await requireServiceAccount(ctx, serviceAccountId);
  requireOwn(own, token.permissions);
  requireOwn(new Set(permissionsOf(account.role)), token.permissions);
  return insertToken(ctx, { serviceAccountId }, token);
}
