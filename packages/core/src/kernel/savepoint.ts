// Runs a part of a transaction that may fail alone. Without a savepoint PostgreSQL refuses every statement after the
// first that failed.
import type { ScopedTx } from '@fairlead/db';

export type Attempt = { readonly done: true } | { readonly done: false; readonly error: unknown };

/**
 * Runs `work`; when it fails, takes back what it wrote and answers the error. Throws only when the transaction itself is
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
