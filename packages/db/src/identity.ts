// Unscoped client for identity's own tables; only packages/auth imports it, for better-auth. As the login role it
// owns those tables and sees no row of any organization, because their policies are forced.
import { clients, type Database } from './database.ts';
import type { PrismaClient } from './generated/client.ts';

export type IdentityClient = PrismaClient;

/** Shares the database's pool, so it needs no connection budget of its own. */
export function identityClient(database: Database): IdentityClient {
  const client = clients.get(database);
  if (client === undefined) throw new TypeError('this database was not made by createDatabase');
  return client;
}
