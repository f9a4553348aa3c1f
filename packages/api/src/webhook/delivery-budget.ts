// Keeps each organization's webhooks within its bytes for a day. Counts stored bytes once a minute, and what is taken since;
// other processes' bytes count from the next count on.
import type { OrganizationId } from '@fairlead/contract/ids';
import type { Clock } from '@fairlead/core/kernel';
import { deliveryBytesLeft, deliveryDayBytesMax } from '@fairlead/core/push';
import type { Database } from '@fairlead/db';

export interface DeliveryBudget {
  /** False if the organization has fewer bytes left. */
  take(organizationId: OrganizationId, bytes: number): Promise<boolean>;
}

interface Counted {
  readonly countedAtMs: number;
  left: number;
}

const countedForMs = 60_000;
const organizationsMax = 1000;

export function createDeliveryBudget(
  { database, clock }: { readonly database: Database; readonly clock: Clock },
  bytesMax = deliveryDayBytesMax,
): DeliveryBudget {
  const counts = new Map<string, Promise<Counted>>();

  async function count(organizationId: OrganizationId): Promise<Counted> {
    const countedAtMs = clock.now().getTime();
    const left = await database.system('count webhook bytes', (tx) =>
      deliveryBytesLeft({ tx, clock }, organizationId, bytesMax),
    );
    return { countedAtMs, left };
  }

  async function recount(organizationId: OrganizationId): Promise<Counted> {
    if (counts.size >= organizationsMax) counts.clear();
    const counting = count(organizationId);
    counts.set(organizationId, counting);
    try {
      return await counting;
    } catch (error) {
      if (counts.get(organizationId) === counting) counts.delete(organizationId);
      throw error;
    }
  }

  return {
    take: async (organizationId, bytes) => {
      const known = await counts.get(organizationId);
      const isFresh = known !== undefined && clock.now().getTime() - known.countedAtMs < countedForMs;
      const counted = isFresh ? known : await recount(organizationId);
      if (counted.left < bytes) return false;
      counted.left -= bytes;
      return true;
    },
  };
}
