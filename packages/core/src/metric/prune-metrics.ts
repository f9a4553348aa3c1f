// Maintains metric partitions: creates those of the next days and drops those past their retention.
import { dropExpiredMetricPartitions, ensureMetricPartitions } from '@fairlead/db';
import type { SystemCtx } from '../kernel/index.ts';

/** Makes partitions a week ahead. The gateway calls it before it takes the first sample. */
export async function prepareMetrics(ctx: SystemCtx): Promise<void> {
  await ensureMetricPartitions(ctx.tx, ctx.clock.now());
}

export async function pruneMetrics(ctx: SystemCtx): Promise<void> {
  await prepareMetrics(ctx);
  const dropped = await dropExpiredMetricPartitions(ctx.tx);
  if (dropped.length > 0) ctx.log.info({ dropped }, 'metrics past their age were dropped');
}
