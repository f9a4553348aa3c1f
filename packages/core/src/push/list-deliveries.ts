// Lists deliveries of webhooks, page by page.
import { type Ctx, type Page, toPage } from '../kernel/index.ts';
import { type Reach, wholeReach } from '../role/index.ts';
import { loadDeliveries } from './load-deliveries.ts';
import type { DeliveryView, ListDeliveriesInput } from './schema.ts';

export async function listDeliveries(
  ctx: Ctx,
  input: ListDeliveriesInput,
  reach: Reach = wholeReach,
): Promise<Page<DeliveryView>> {
  const { appId, outcome, cursor, limit } = input;
  const rows = await loadDeliveries(ctx, { reach, appId, outcome, after: cursor, limit: limit + 1 });
  return toPage(
    rows,
    limit,
    (row) => row.id,
    (row) => row,
  );
}
