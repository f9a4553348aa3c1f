// Database that rolls every transaction back, so that each call of the matrix finds the same rows.
import type { Database, TenantTx } from '@fairlead/db';

/** Calls `look` on the changes of a call before it rolls them back. */
export function undoing(database: Database, look: (tx: TenantTx) => Promise<void> = async () => {}): Database {
  return {
    ...database,
    tenant: (organizationId, work, options) =>
      undo((keep) =>
        database.tenant(
          organizationId,
          async (tx) => {
            const value = await work(tx);
            await look(tx);
            return keep(value);
          },
          options,
        ),
      ),
    system: (reason, work, options) =>
      undo((keep) => database.system(reason, async (tx) => keep(await work(tx)), options)),
  };
}

async function undo<T>(run: (keep: (value: T) => never) => Promise<T>): Promise<T> {
  let kept: { readonly value: T } | undefined;
  try {
    return await run((value) => {
      kept = { value };
      throw new Undone();
    });
  } catch (error) {
    if (error instanceof Undone && kept !== undefined) return kept.value;
    throw error;
  }
}

class Undone extends Error {}
