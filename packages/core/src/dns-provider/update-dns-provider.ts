// Changes zones, preference or credentials of a DNS provider.
import { changedFields, recordAudit } from '../audit/index.ts';
import { AppError, type Ctx } from '../kernel/index.ts';
import type { SecretKeys } from '../secret/index.ts';
import { releaseHosts } from './release-hosts.ts';
import { type DnsProviderView, dnsProviderSettingsSchema, type UpdateDnsProviderInput } from './schema.ts';
import { dnsProviderView, requireDnsProvider, requireFreeZones, splitCredentials } from './store.ts';

/** Throws dns_provider.not_found, dns_provider.zone_taken and dns_provider.other_kind. */
export async function updateDnsProvider(
  ctx: Ctx,
  { dnsProviderId: id, zones, preferred, credentials }: UpdateDnsProviderInput,
  keys: SecretKeys,
): Promise<DnsProviderView> {
  const before = await requireDnsProvider(ctx, id);
  if (credentials !== undefined && credentials.kind !== before.kind) throw new AppError('dns_provider.other_kind');
  if (zones !== undefined) await requireFreeZones(ctx, zones, id);
  const row = await ctx.tx.dnsProvider.update({
    where: { id, organizationId: ctx.organizationId },
    data: {
      ...(zones === undefined ? {} : { zones }),
      ...(preferred === undefined ? {} : { preferred }),
      ...(credentials === undefined ? {} : await sealed(ctx, keys, id, credentials)),
    },
  });
  await releaseHosts(ctx, row.zones);
  const fields = ({ zones: names, preferred: isPreferred, settings }: typeof row) => ({
    zones: names,
    preferred: isPreferred,
    ...dnsProviderSettingsSchema.parse(settings),
  });
  await recordAudit(ctx, {
    action: 'dns_provider.update',
    target: { kind: 'dns_provider', id, label: row.zones.join(', ') },
    ...changedFields(fields(before), fields(row)),
  });
  return dnsProviderView(row);
}

async function sealed(
  ctx: Ctx,
  keys: SecretKeys,
  id: string,
  credentials: NonNullable<UpdateDnsProviderInput['credentials']>,
) {
  const active = await keys.active(ctx);
  const { settings, secret } = splitCredentials(credentials);
  return { settings, dataKeyId: active.dataKeyId, envelope: active.seal(id, Buffer.from(secret, 'utf8')) };
}
