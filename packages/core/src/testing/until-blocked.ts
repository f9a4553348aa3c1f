// Waits in tests of the order of locks.
import type { OrganizationCtx } from '../kernel/index.ts';

/** Waits until another transaction waits for a lock of this one. The time limit of the transaction ends the wait. */
export async function untilBlocked(tx: OrganizationCtx['tx']): Promise<void> {
  let blocked: readonly unknown[] = [];
  while (blocked.length === 0) {
    // Not pg_stat_activity, which lacks connections that were opened after its first use in a transaction.
    blocked = await tx.$queryRaw<unknown[]>`
      SELECT pid FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid))`;
  }
}
