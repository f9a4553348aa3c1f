// History of certificates: the last events of each.
import { newId } from '@fairlead/contract/ids';
import type { OrganizationCtx } from '../kernel/index.ts';
import type { CertificateEventKind } from './schema.ts';

/** Maximum number of events kept for a certificate. */
const eventsMax = 50;

export type CertificateOwner = { readonly certificateId: string } | { readonly uploadedCertificateId: string };

/** Records an event. `detail`: cause of a failure. */
export async function recordEvent(
  ctx: OrganizationCtx,
  owner: CertificateOwner,
  { kind, detail = null }: { readonly kind: CertificateEventKind; readonly detail?: string | null },
): Promise<void> {
  const { tx, organizationId } = ctx;
  const createdAt = ctx.clock.now();
  await tx.certificateEvent.create({ data: { id: newId('cev'), organizationId, ...owner, kind, detail, createdAt } });
  const where = { organizationId, ...owner };
  const old = await tx.certificateEvent.findMany({
    where,
    orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
    skip: eventsMax,
    select: { id: true },
  });
  if (old.length > 0)
    await tx.certificateEvent.deleteMany({ where: { organizationId, id: { in: old.map(({ id }) => id) } } });
}
