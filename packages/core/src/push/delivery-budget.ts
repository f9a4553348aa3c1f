// Bytes of webhooks that one organization may store within a day, so that it can't fill the disk: they are kept for a month.
import type { OrganizationId } from '@fairlead/contract/ids';
import type { SystemCtx } from '../kernel/index.ts';

/** About 50,000 pushes of the usual size. */
export const deliveryDayBytesMax = 1024 ** 3;
const dayMs = 24 * 60 * 60_000;

/** Returns the bytes of deliveries that the organization may still store now; 0 or less if none. */
export async function deliveryBytesLeft(
  { tx, clock }: Pick<SystemCtx, 'tx' | 'clock'>,
  organizationId: OrganizationId,
  bytesMax = deliveryDayBytesMax,
): Promise<number> {
  const since = new Date(clock.now().getTime() - dayMs);
  const [row] = await tx.$queryRaw<{ bytes: bigint }[]>`
    SELECT coalesce(sum(octet_length(body)), 0)::bigint AS bytes FROM webhook_delivery
    WHERE organization_id = ${organizationId} AND received_at > ${since}`;
  return bytesMax - Number(row?.bytes ?? 0);
}
