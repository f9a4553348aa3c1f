// Jobs of accounts.
import { pruneAccounts } from '@fairlead/core/account';
import type { Handler } from './handler.ts';

export const pruneAccountsHandler: Handler<'account.prune'> = async ({ database, clock, log }) => {
  await database.system('account.prune', (tx) => pruneAccounts({ tx, clock, log }));
};
