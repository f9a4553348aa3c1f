// Jobs of webhook deliveries.
import { checkRules } from '@fairlead/api/deployment-rules';
import type { DeliveryId } from '@fairlead/contract/ids';
import { processCheckRequest } from '@fairlead/core/check-action';
import type { Ctx } from '@fairlead/core/kernel';
import {
  findNextDelivery,
  findPathFilter,
  isUnreadable,
  processDelivery,
  pruneDeliveries,
  recordDeliveryFailure,
  sweepDeliveries,
  tryProcessing,
} from '@fairlead/core/push';
import { listChangedFiles } from './changed-files.ts';
import type { Handler } from './handler.ts';

/** Each delivery is a transaction of its own, and one that fails does not block the others. */
export const processDeliveriesHandler: Handler<'delivery.process'> = async (parts, { organizationId }) => {
  const { database, clock, log, stopping } = parts;
  const actor = { kind: 'system', reason: 'delivery.process' } as const;
  const tenant = <T>(work: (ctx: Ctx) => Promise<T>): Promise<T> =>
    database.tenant(organizationId, (tx) => work({ tx, organizationId, actor, clock, log }));

  while (!stopping.aborted) {
    const deliveryId = await tenant(findNextDelivery);
    if (deliveryId === null || !(await processOne(deliveryId))) return;
  }

  /** False: another job processes the organization's deliveries. */
  async function processOne(deliveryId: DeliveryId): Promise<boolean> {
    try {
      const filtered = await tenant((ctx) => findPathFilter(ctx, { deliveryId }, parts.secretKeys));
      const changedFiles = filtered === null ? null : await listChangedFiles(parts, filtered);
      return await tenant(async (ctx) => {
        if (!(await tryProcessing(ctx))) return false;
        if (!(await processCheckRequest(ctx, { deliveryId }, checkRules)))
          await processDelivery(ctx, { deliveryId, changedFiles });
        return true;
      });
    } catch (error) {
      log.error({ err: error, organizationId, deliveryId }, 'a webhook delivery was not processed');
      await tenant((ctx) => recordDeliveryFailure(ctx, { deliveryId, isFinal: isUnreadable(error) }));
      return true;
    }
  }
};

export const sweepDeliveriesHandler: Handler<'delivery.sweep'> = async ({ database, clock }) => {
  await database.system('delivery.sweep', (tx) => sweepDeliveries({ tx, clock }));
};

export const pruneDeliveriesHandler: Handler<'delivery.prune'> = async ({ database, clock }) => {
  while (await database.system('delivery.prune', (tx) => pruneDeliveries({ tx, clock })));
};
