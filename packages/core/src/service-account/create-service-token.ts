// Creates a token for a service account.
import type { Ctx } from '../kernel/index.ts';
import { type Rights, wholeOrganization } from '../role/index.ts';
import { type CreatedToken, insertToken, requireOwn } from '../token/index.ts';
import type { CreateServiceTokenInput } from './schema.ts';
import { requireServiceAccount } from './store.ts';

/**
 * Creates a token. Its permissions must be within the account's role and, because the maker sees the token, within the
 * maker's rights.
 */
export async function createServiceToken(ctx: Ctx, input: CreateServiceTokenInput, own: Rights): Promise<CreatedToken> {
  const { serviceAccountId, ...token } = input;
  const account = await requireServiceAccount(ctx, serviceAccountId);
  const { rights } = account;
  return insertToken(ctx, { serviceAccountId }, token, (where) => {
    requireOwn(own, token.permissions, where ?? wholeOrganization);
    requireOwn(rights, token.permissions, where ?? wholeOrganization);
  });
}
