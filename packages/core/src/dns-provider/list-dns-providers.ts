// Lists the DNS providers of an organization, without secrets.
import type { Ctx } from '../kernel/index.ts';
import type { DnsProviderView } from './schema.ts';
import { dnsProviderView } from './store.ts';

export async function listDnsProviders({ tx, organizationId }: Ctx): Promise<{ items: DnsProviderView[] }> {
  const rows = await tx.dnsProvider.findMany({
    where: { organizationId },
    select: { id: true, kind: true, zones: true, settings: true, preferred: true, createdAt: true },
    orderBy: { createdAt: 'asc' },
  });
  return { items: rows.map(dnsProviderView) };
}
