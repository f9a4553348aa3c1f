// Deletes old deliveries with their decisions, in bounded batches.
import { retention, type SystemCtx } from '../kernel/index.ts';

const batchMax = 1000;

/** Returns true if there may be more. Deliveries that wait stay. */
export async function pruneDeliveries({ tx, clock }: Pick<SystemCtx, 'tx' | 'clock'>): Promise<boolean> {
  const before = new Date(clock.now().getTime() - retention.deliveryMs);
  const count = await tx.$executeRaw`
    DELETE FROM webhook_delivery WHERE id IN (
      SELECT id FROM webhook_delivery WHERE received_at < ${before} AND state <> 'received' LIMIT ${batchMax})`;
  return count === batchMax;
}
