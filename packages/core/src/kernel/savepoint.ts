// Parts of a transaction that may fail alone.
import type { ScopedTx } from '@fairlead/db';

type SavepointResult<Value> =
  | { readonly done: true; readonly value: Value }
  | { readonly done: false; readonly error: unknown };

/**
 * Runs a part of a transaction that may fail alone: without a savepoint PostgreSQL refuses every later statement. If
 * `work` fails, rolls its writes back and returns the error. Throws only if the transaction itself is
 * lost. Must not be nested.
 */
export async function withSavepoint<Value>(tx: ScopedTx, work: () => Promise<Value>): Promise<SavepointResult<Value>> {
  await tx.$executeRaw`SAVEPOINT part`;
  let value: Value;
  try {
    value = await work();
  } catch (error) {
    await tx.$executeRaw`ROLLBACK TO SAVEPOINT part`;
    return { done: false, error };
  }
  await tx.$executeRaw`RELEASE SAVEPOINT part`;
  return { done: true, value };
}
