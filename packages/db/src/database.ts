// Access to the tables: a transaction in one organization's scope, or in system scope with a stated reason. It owns
// the pool.
// Invariant: it never returns an unscoped client (identity.ts is the one exception, for packages/auth).

import type { PoolSizes } from '@fairlead/settings';
import { PrismaPg } from '@prisma/adapter-pg';
import { defaultPools, sessionSettings } from './connections.ts';
import { type Prisma, PrismaClient } from './generated/client.ts';
import { createListener, type ListenHandlers } from './listener.ts';
import { assertSafe } from './safety.ts';
import { type SystemTx, systemRole, type TenantTx, tenantRole } from './scope.ts';
import { SerialClient } from './serial-client.ts';

/** Maps each Database to its Prisma client. Only this package may reach it: a bare client bypasses the scopes. */
export const clients = new WeakMap<object, PrismaClient>();

export interface DatabaseOptions {
  /** URL of the login role, which owns the tables and is no superuser. */
  readonly url: string;
  /** Connections of this process at most; the budgets of all processes together must fit the server's limit. */
  readonly poolMax: number;
  readonly applicationName: string;
  /** A single statement may take this long. */
  readonly statementTimeoutMs?: number;
  /** Hears of connections that broke while idle or listening; the pool replaces them. */
  readonly onConnectionError?: (error: Error) => void;
}

export interface TransactionOptions {
  /** The whole transaction may take this long; it is rolled back after. */
  readonly timeoutMs?: number;
}

export interface Database {
  /** Runs `work` in one transaction that sees and writes only this organization's rows. */
  tenant<T>(organizationId: string, work: (tx: TenantTx) => Promise<T>, options?: TransactionOptions): Promise<T>;
  /** Runs `work` in one transaction that sees every organization. `reason` appears in the server's activity view. */
  system<T>(reason: string, work: (tx: SystemTx) => Promise<T>, options?: TransactionOptions): Promise<T>;
  /**
   * Throws an UnsafeDatabaseError when row-level security would not bind, or the server lets in fewer connections than
   * these pools need. Call it before serving.
   */
  assertSafe(pools?: PoolSizes): Promise<void>;
  /**
   * Calls `onNotice` for each NOTIFY on the channel, once the promise resolved. After a lost connection `onGap`
   * reports that notices may be missing: read the rows again then. Returns a function that ends it.
   */
  listen(channel: string, handlers: ListenHandlers): Promise<() => Promise<void>>;
  close(): Promise<void>;
}

const transactionTimeoutMs = 15_000;
// Longer than any sensible transaction: it is a sign that the pool is too small, not that one query is slow.
const poolWaitMs = 10_000;
const statementTimeoutMs = 30_000;

export function createDatabase(options: DatabaseOptions): Database {
  const statementTimeout = options.statementTimeoutMs ?? statementTimeoutMs;
  const onError = options.onConnectionError ?? (() => {});
  const adapter = new PrismaPg(
    {
      Client: SerialClient,
      connectionString: options.url,
      max: options.poolMax,
      application_name: options.applicationName,
      idleTimeoutMillis: 60_000,
      keepAlive: true,
      options: `${sessionSettings} -c statement_timeout=${statementTimeout} -c idle_in_transaction_session_timeout=60000`,
    },
    { onPoolError: onError, onConnectionError: onError },
  );
  const client = new PrismaClient({ adapter, errorFormat: 'minimal' });
  const listener = createListener({
    url: options.url,
    applicationName: `${options.applicationName}-listen`,
    onError,
  });

  async function scoped<T>(
    enter: (tx: Prisma.TransactionClient) => Promise<unknown>,
    work: (tx: Prisma.TransactionClient) => Promise<T>,
    timeoutMs = transactionTimeoutMs,
  ): Promise<T> {
    return client.$transaction(
      async (tx) => {
        await enter(tx);
        return work(tx);
      },
      { timeout: timeoutMs, maxWait: poolWaitMs },
    );
  }

  const database: Database = {
    tenant: (organizationId, work, transaction) => {
      // An empty id would match a row without one; refuse before it gets there.
      if (organizationId === '') throw new TypeError('a tenant scope needs an organization id');
      return scoped(
        // set_config('role', …, true) is SET LOCAL ROLE: both end with the transaction.
        (tx) => tx.$queryRaw`SELECT set_config('role', ${tenantRole}, true),
                                    set_config('fairlead.organization_id', ${organizationId}, true)`,
        (tx) => work(tx as TenantTx),
        transaction?.timeoutMs,
      );
    },
    system: (reason, work, transaction) => {
      if (reason.trim() === '') throw new TypeError('a system scope needs a reason');
      return scoped(
        (tx) => tx.$queryRaw`SELECT set_config('role', ${systemRole}, true),
                                    set_config('fairlead.system_reason', ${reason}, true)`,
        (tx) => work(tx as SystemTx),
        transaction?.timeoutMs,
      );
    },
    assertSafe: (pools = defaultPools) => assertSafe(client, pools),
    listen: (channel, handlers) => listener.listen(channel, handlers),
    close: async () => {
      await listener.close();
      await client.$disconnect();
    },
  };
  clients.set(database, client);
  return database;
}
