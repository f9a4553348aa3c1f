// Enforces an organization's 24-hour byte limits for webhooks. Reloads the stored bytes every minute, so it counts other
// processes' bytes with that delay.
import type { OrganizationId } from '@fairlead/contract/ids';
import type { Clock } from '@fairlead/core/kernel';
import { type DeliveryBudget, type DeliveryLimits, loadDeliveryBudget, type NewDelivery } from '@fairlead/core/push';
import type { Database } from '@fairlead/db';

export interface DeliveryBudgets {
  /** False if a limit of the organization leaves fewer bytes. */
  take(delivery: NewDelivery): Promise<boolean>;
}

interface Counted {
  readonly countedAtMs: number;
  /** Promise that deliveries share which arrive while it is loaded. */
  readonly budget: Promise<DeliveryBudget>;
}

const countedForMs = 60_000;
const organizationsMax = 1000;

export function createDeliveryBudgets({
  database,
  clock,
  limits,
}: {
  readonly database: Database;
  readonly clock: Clock;
  /** Without them, the product's own. */
  readonly limits?: DeliveryLimits | undefined;
}): DeliveryBudgets {
  const counts = new Map<OrganizationId, Counted>();

  function budgetOf(organizationId: OrganizationId): Promise<DeliveryBudget> {
    const nowMs = clock.now().getTime();
    const known = counts.get(organizationId);
    if (known !== undefined && nowMs - known.countedAtMs < countedForMs) return known.budget;
    if (counts.size >= organizationsMax) counts.clear();
    const budget = database.system('count webhook bytes', (tx) =>
      loadDeliveryBudget({ tx, clock }, organizationId, limits),
    );
    const counted = { countedAtMs: nowMs, budget };
    counts.set(organizationId, counted);
    budget.catch(() => {
      if (counts.get(organizationId) === counted) counts.delete(organizationId);
    });
    return budget;
  }

  return { take: async (delivery) => (await budgetOf(delivery.organizationId)).take(delivery) };
}
