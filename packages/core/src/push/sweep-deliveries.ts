// Finds deliveries that wait although they are due, because a worker died or a try failed, and enqueues their processing.
import { parseId } from '@fairlead/contract/ids';
import type { SystemCtx } from '../kernel/index.ts';
import { enqueueProcessing } from './record-deliveries.ts';

/** Returns the number of organizations with waiting deliveries. Safe to run twice. */
export async function sweepDeliveries({ tx, clock }: Pick<SystemCtx, 'tx' | 'clock'>): Promise<number> {
  const waiting = await tx.webhookDelivery.findMany({
    where: { state: 'received', nextAttemptAt: { lte: clock.now() } },
    distinct: ['organizationId'],
    select: { organizationId: true },
  });
  for (const { organizationId } of waiting) await enqueueProcessing({ tx }, parseId('org', organizationId));
  return waiting.length;
}
