// Periods and numbers for which the control plane keeps what is deleted or old.
import type { Clock } from './context.ts';

const dayMs = 24 * 60 * 60_000;

export const retention = {
  /** Delay after which a deleted app is purged. Until then it can be restored. */
  deletedAppMs: 7 * dayMs,
  /** Finished deployments with their build logs, of each app in each environment: the newest ones and recent ones stay. */
  deploymentsKept: 50,
  deploymentMs: 90 * dayMs,
  /** Deliveries of webhooks, with what was decided about each. */
  deliveryMs: 30 * dayMs,
  /** Reservation of a removed domain of the dashboard: the longest life of a session, which browsers send there. */
  removedDashboardDomainMs: 30 * dayMs,
  /** Finished benchmark runs, of each app in each environment. */
  benchmarksKept: 100,
} as const;

/** Domains of the dashboard that were removed after this time are reserved. */
export function reservedSince({ clock }: { readonly clock: Clock }): Date {
  return new Date(clock.now().getTime() - retention.removedDashboardDomainMs);
}
