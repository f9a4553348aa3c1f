// Deletes a DNS provider with its credentials. A record of a running order must leave its zone first.
import { recordAudit } from '../audit/index.ts';
import { AppError, type Ctx } from '../kernel/index.ts';
import type { DnsProviderRef } from './schema.ts';
import { requireDnsProvider } from './store.ts';

/** Throws dns_provider.not_found and dns_provider.in_use. */
export async function deleteDnsProvider(ctx: Ctx, { dnsProviderId: id }: DnsProviderRef): Promise<DnsProviderRef> {
  const { organizationId } = ctx;
  const { kind, zones } = await requireDnsProvider(ctx, id);
  // Records that the provider refuses to remove never keep its credentials.
  const records = await ctx.tx.dnsRecord.count({ where: { providerId: id, organizationId, failures: 0 } });
  if (records > 0) throw new AppError('dns_provider.in_use');
  await ctx.tx.dnsProvider.delete({ where: { id, organizationId } });
  await recordAudit(ctx, {
    action: 'dns_provider.delete',
    target: { kind: 'dns_provider', id, label: zones.join(', ') },
    before: { kind, zones },
  });
  return { dnsProviderId: id };
}
