// Returns the data of a delivery's page.
import { AppError, type Ctx } from '../kernel/index.ts';
import { type Reach, wholeReach } from '../role/index.ts';
import { loadDeliveries } from './load-deliveries.ts';
import type { DeliveryDetail, DeliveryRef } from './schema.ts';

/** Throws delivery.not_found, also for one that concerns no app that the reader may see. */
export async function getDelivery(
  ctx: Ctx,
  { deliveryId }: DeliveryRef,
  reach: Reach = wholeReach,
): Promise<DeliveryDetail> {
  const [delivery] = await loadDeliveries(ctx, { reach, id: deliveryId, limit: 1 });
  if (delivery === undefined) throw new AppError('delivery.not_found', { deliveryId });
  const row = await ctx.tx.webhookDelivery.findFirstOrThrow({
    where: { id: deliveryId, organizationId: ctx.organizationId },
    select: {
      deliveryKey: true,
      before: true,
      after: true,
      pushedAt: true,
      attempts: true,
      isRecovered: true,
      body: true,
    },
  });
  return { ...delivery, ...row };
}
