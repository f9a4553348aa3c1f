// Tests the connection to a DNS provider: sets a record in each zone and removes it, as an order does.
// Invariant: no transaction is open while a provider is called; it may take longer than one lasts.
import { randomBytes } from 'node:crypto';
import { recordAudit } from '../audit/index.ts';
import { AppError, type Ctx } from '../kernel/index.ts';
import type { SecretKeys } from '../secret/index.ts';
import type { DnsClient } from './client.ts';
import type { DnsCredentials, DnsProviderCheck, DnsProviderRef } from './schema.ts';
import { openCredentials, requireDnsProvider } from './store.ts';

export interface DnsProviderTest {
  readonly zones: readonly string[];
  readonly credentials: DnsCredentials;
}

/** Returns what the test needs, and records it. Throws dns_provider.not_found and secret.undecryptable. */
export async function prepareDnsProviderTest(
  ctx: Ctx,
  { dnsProviderId: id }: DnsProviderRef,
  keys: SecretKeys,
): Promise<DnsProviderTest> {
  const { zones } = await requireDnsProvider(ctx, id);
  const credentials = await openCredentials(ctx, keys, id);
  if (credentials === null) throw new AppError('dns_provider.not_found', { dnsProviderId: id });
  await recordAudit(ctx, {
    action: 'dns_provider.verify',
    target: { kind: 'dns_provider', id, label: zones.join(', ') },
  });
  return { zones, credentials };
}

export async function verifyDnsProvider(
  { zones, credentials }: DnsProviderTest,
  dns: DnsClient,
): Promise<DnsProviderCheck> {
  const check = async (zone: string) => {
    const record = { zone, name: `_acme-challenge.${zone}`, value: `fairlead-test-${randomBytes(12).toString('hex')}` };
    const failure = (await dns.change(credentials, 'put', record)) ?? (await dns.change(credentials, 'remove', record));
    return { zone, failure: failure?.message ?? null };
  };
  return { items: await Promise.all(zones.map(check)) };
}
