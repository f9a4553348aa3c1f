// Periods and numbers for which the control plane keeps what is deleted or old.

const dayMs = 24 * 60 * 60_000;

export const retention = {
  /** Delay after which a deleted app is purged. Until then it can be restored. */
  deletedAppMs: 7 * dayMs,
  /** Finished deployments with their build logs, of each app in each environment: the newest and the young ones stay. */
  deploymentsKept: 50,
  deploymentMs: 90 * dayMs,
  /** Finished benchmark runs, of each app in each environment. */
  benchmarksKept: 100,
} as const;
