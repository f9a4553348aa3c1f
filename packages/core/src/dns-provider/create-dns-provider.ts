// Adds a DNS provider for zones of the organization.
import { newId } from '@fairlead/contract/ids';
import { recordAudit } from '../audit/index.ts';
import type { Ctx } from '../kernel/index.ts';
import type { SecretKeys } from '../secret/index.ts';
import { releaseHosts } from './release-hosts.ts';
import type { CreateDnsProviderInput, DnsProviderView } from './schema.ts';
import { dnsProviderView, requireFreeZones, splitCredentials } from './store.ts';

/** Throws dns_provider.zone_taken. */
export async function createDnsProvider(
  ctx: Ctx,
  { zones, preferred, credentials }: CreateDnsProviderInput,
  keys: SecretKeys,
): Promise<DnsProviderView> {
  await requireFreeZones(ctx, zones);
  const id = newId('dnp');
  const active = await keys.active(ctx);
  const { settings, secret } = splitCredentials(credentials);
  const { kind } = credentials;
  const row = await ctx.tx.dnsProvider.create({
    data: {
      id,
      organizationId: ctx.organizationId,
      kind,
      zones,
      settings,
      preferred,
      dataKeyId: active.dataKeyId,
      envelope: active.seal(id, Buffer.from(secret, 'utf8')),
      createdAt: ctx.clock.now(),
    },
  });
  await releaseHosts(ctx, zones);
  await recordAudit(ctx, {
    action: 'dns_provider.create',
    target: { kind: 'dns_provider', id, label: zones.join(', ') },
    after: { kind, zones, preferred, ...settings },
  });
  return dnsProviderView(row);
}
