// Records that a delivery could not be processed: it is tried again with growing delays, then given up.
import type { DeliveryId } from '@fairlead/contract/ids';
import { type Ctx, notifyChange } from '../kernel/index.ts';
import { lockDelivery } from './store.ts';

/** With the delays below, the last try is more than a day after the first. */
const attemptsMax = 12;
const firstDelayMs = 5_000;
const delayMaxMs = 6 * 60 * 60_000;

/** `isFinal`: no later try can succeed. */
export async function recordDeliveryFailure(
  ctx: Ctx,
  { deliveryId, isFinal }: { readonly deliveryId: DeliveryId; readonly isFinal: boolean },
): Promise<void> {
  const row = await lockDelivery(ctx, deliveryId);
  if (row === null || row.state !== 'received') return;
  const attempts = row.attempts + 1;
  const isOver = isFinal || attempts >= attemptsMax;
  const now = ctx.clock.now();
  await ctx.tx.webhookDelivery.update({
    where: { id: row.id },
    data: {
      attempts,
      state: isOver ? 'failed' : 'received',
      problem: isFinal
        ? 'The body is not in a form that Fairlead reads.'
        : 'Fairlead could not process this delivery. The log of the control plane has the error.',
      nextAttemptAt: new Date(now.getTime() + Math.min(firstDelayMs * 2 ** row.attempts, delayMaxMs)),
      processedAt: isOver ? now : null,
    },
  });
  await notifyChange(ctx, { kind: 'delivery', id: row.id });
}
