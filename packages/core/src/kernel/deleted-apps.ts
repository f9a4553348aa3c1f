// Access to deleted apps. Row-level security hides all of their rows from an organization's transactions, so a query sees
// them only inside `withDeletedApps`.
import type { OrganizationCtx } from './context.ts';

/**
 * Runs `work` with the rows of deleted apps visible: for the verbs of deleted apps themselves, and for rules that count
 * what a deleted app keeps, such as its host names. A thrown error leaves them visible; it must end the transaction.
 */
export async function withDeletedApps<T>({ tx }: Pick<OrganizationCtx, 'tx'>, work: () => Promise<T>): Promise<T> {
  const [row] = await tx.$queryRaw<{ seen: boolean }[]>`
    SELECT current_setting('fairlead.deleted_apps', true) IS NOT DISTINCT FROM 'visible' AS seen`;
  if (row?.seen === true) return work();
  await tx.$executeRaw`SELECT set_config('fairlead.deleted_apps', 'visible', true)`;
  const result = await work();
  await tx.$executeRaw`SELECT set_config('fairlead.deleted_apps', '', true)`;
  return result;
}
