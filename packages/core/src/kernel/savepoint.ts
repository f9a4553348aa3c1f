// Runs a part of a transaction that may fail alone. Without a savepoint PostgreSQL refuses every statement after the
// first that failed.
import type { ScopedTx } from '@fairlead/db';

export type Attempt = { readonly done: true } | { readonly done: false; readonly error: unknown };

/**
 * Runs `work`; if it fails, rolls its writes back and returns the error. Throws only if the transaction itself is
 * lost. Must not be nested.
 */
export async function attempt(tx: ScopedTx, work: () => Promise<void>): Promise<Attempt> {
  await tx.$executeRaw`SAVEPOINT attempt`;
  try {
    await work();
  } catch (error) {
    await tx.$executeRaw`ROLLBACK TO SAVEPOINT attempt`;
    return { done: false, error };
  }
  await tx.$executeRaw`RELEASE SAVEPOINT attempt`;
  return { done: true };
}
