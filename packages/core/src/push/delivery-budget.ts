// Bytes of webhooks that one organization may store within a day, so that it can't fill the disk: they are kept for a month.
// Separate limits keep one app webhook from blocking others, and strangers' pull requests from blocking pushes.
import type { OrganizationId } from '@fairlead/contract/ids';
import type { SystemCtx } from '../kernel/index.ts';
import type { NewDelivery } from './record-deliveries.ts';

type Charged = Pick<NewDelivery, 'source' | 'endpointId' | 'event' | 'body'>;

export interface DeliveryBudget {
  /** Takes the bytes of a delivery; false if a limit leaves fewer. */
  take(delivery: Charged): boolean;
}

/** Limits within 24 hours, in bytes. */
export interface DeliveryLimits {
  /** All webhooks of apps together. */
  readonly apps: number;
  /** Each webhook of an app. */
  readonly app: number;
  /** Pushes from GitHub: about 50,000 of the usual size. */
  readonly githubPushes: number;
  /** Everything else from GitHub. */
  readonly githubOthers: number;
}

const mebibyte = 1024 ** 2;
export const deliveryLimits: DeliveryLimits = {
  apps: 1024 * mebibyte,
  app: 128 * mebibyte,
  githubPushes: 1024 * mebibyte,
  githubOthers: 256 * mebibyte,
};

const dayMs = 24 * 60 * 60_000;
/** About what a row takes with its indexes and its decision, whatever its body. */
const rowBytes = 1024;

/** Counts what the organization has stored. */
export async function loadDeliveryBudget(
  { tx, clock }: Pick<SystemCtx, 'tx' | 'clock'>,
  organizationId: OrganizationId,
  limits: DeliveryLimits = deliveryLimits,
): Promise<DeliveryBudget> {
  const since = new Date(clock.now().getTime() - dayMs);
  // octet_length reads the length of a long body without the body.
  const stored = await tx.$queryRaw<{ source: string; endpointId: string; event: string; bytes: bigint }[]>`
    SELECT source, endpoint_id AS "endpointId", event,
           sum(octet_length(body) + octet_length(event) + ${rowBytes}::int)::bigint AS bytes
    FROM webhook_delivery WHERE organization_id = ${organizationId} AND received_at > ${since}
    GROUP BY source, endpoint_id, event`;
  const used = new Map<string, number>();
  const charge = (name: string, bytes: number) => used.set(name, (used.get(name) ?? 0) + bytes);
  for (const row of stored) for (const [name] of limitsOf(row, limits)) charge(name, Number(row.bytes));
  return {
    take: (delivery) => {
      const bytes = Buffer.byteLength(delivery.body) + Buffer.byteLength(delivery.event) + rowBytes;
      const own = limitsOf(delivery, limits);
      if (own.some(([name, limit]) => (used.get(name) ?? 0) + bytes > limit)) return false;
      for (const [name] of own) charge(name, bytes);
      return true;
    },
  };
}

/** Limits of a delivery, by names that share their use. */
function limitsOf(
  { source, endpointId, event }: { readonly source: string; readonly endpointId: string; readonly event: string },
  limits: DeliveryLimits,
): readonly (readonly [name: string, limit: number])[] {
  if (source === 'github')
    return event === 'push' ? [['githubPushes', limits.githubPushes]] : [['githubOthers', limits.githubOthers]];
  return [
    ['apps', limits.apps],
    [endpointId, limits.app],
  ];
}
