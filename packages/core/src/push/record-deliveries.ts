// Stores deliveries of webhooks and enqueues their processing, many in one transaction.
import { type DeliveryId, newId, type OrganizationId } from '@fairlead/contract/ids';
import { processDeliveriesJob } from '@fairlead/contract/jobs';
import { enqueue } from '@fairlead/db';
import type { SystemCtx } from '../kernel/index.ts';

export interface NewDelivery {
  readonly organizationId: OrganizationId;
  readonly source: 'github' | 'app';
  readonly endpointId: string;
  /** Id that the host gave it; a second one with the same id changes nothing. */
  readonly deliveryKey: string;
  readonly event: string;
  readonly body: string;
  /** It did not arrive, and was fetched from the log of its host. */
  readonly isRecovered?: boolean;
}

export interface RecordedDelivery {
  /** Null: it was stored before. */
  readonly deliveryId: DeliveryId | null;
}

/** Returns one result for each delivery, in their order. */
export async function recordDeliveries(
  { tx, clock }: Pick<SystemCtx, 'tx' | 'clock'>,
  deliveries: readonly NewDelivery[],
): Promise<RecordedDelivery[]> {
  const rows = deliveries.map((delivery) => ({ ...delivery, id: newId('dlv') }));
  const now = clock.now();
  const column = (name: Exclude<keyof (typeof rows)[number], 'isRecovered'>): string[] => rows.map((row) => row[name]);
  const isRecovered = rows.map((row) => row.isRecovered ?? false);
  const stored = await tx.$queryRaw<{ id: string }[]>`
    INSERT INTO webhook_delivery
      (id, organization_id, source, endpoint_id, delivery_key, event, body, is_recovered, received_at, next_attempt_at)
    SELECT id, organization_id, source, endpoint_id, delivery_key, event, body, is_recovered, ${now}, ${now}
    FROM unnest(${column('id')}::text[], ${column('organizationId')}::text[], ${column('source')}::text[],
                ${column('endpointId')}::text[], ${column('deliveryKey')}::text[], ${column('event')}::text[],
                ${column('body')}::text[], ${isRecovered}::boolean[]) WITH ORDINALITY
      AS given (id, organization_id, source, endpoint_id, delivery_key, event, body, is_recovered, position)
    ORDER BY position
    ON CONFLICT (endpoint_id, delivery_key) DO NOTHING
    RETURNING id`;
  const ids = new Set(stored.map(({ id }) => id));
  const organizations = new Set(rows.filter(({ id }) => ids.has(id)).map(({ organizationId }) => organizationId));
  for (const organizationId of organizations) await enqueueProcessing({ tx }, organizationId);
  return rows.map(({ id }) => ({ deliveryId: ids.has(id) ? id : null }));
}

/** One waiting job handles every delivery that arrives until it runs. */
export async function enqueueProcessing(
  { tx }: { readonly tx: Parameters<typeof enqueue>[0] },
  organizationId: OrganizationId,
): Promise<void> {
  await enqueue(tx, processDeliveriesJob, { organizationId }, { key: 'deliveries', keepRunAt: true });
}
