// Maintains the metric tables: creates partitions ahead of time and drops old ones whole. Core reads and writes their
// rows.
import type { SystemTx } from './scope.ts';

const daysAhead = 7;
const dayMs = 24 * 60 * 60 * 1000;

/**
 * Makes missing partitions from a day ago to a week ahead, and returns their number. The gateway and the worker call
 * it at start, the worker every hour. `from` reaches further back, for loaded rows.
 */
export async function ensureMetricPartitions(tx: SystemTx, now: Date, from?: Date): Promise<number> {
  const start = from ?? new Date(now.getTime() - dayMs);
  const until = new Date(now.getTime() + daysAhead * dayMs);
  const [row] = await tx.$queryRaw<{ readonly made: number }[]>`
    SELECT metric.ensure_partitions(${start}::timestamptz, ${until}::timestamptz) AS made`;
  return row?.made ?? 0;
}

/** Drops expired partitions and returns their names. */
export async function dropExpiredMetricPartitions(tx: SystemTx): Promise<readonly string[]> {
  const rows = await tx.$queryRaw<{ readonly name: string }[]>`
    SELECT metric.drop_expired_partitions() AS name`;
  return rows.map((row) => row.name);
}
