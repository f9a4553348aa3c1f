// Reads DNS providers, and encrypts and decrypts their credentials. An envelope is bound to its own row.
import { parseId } from '@fairlead/contract/ids';
import { AppError, type OrganizationCtx } from '../kernel/index.ts';
import type { SecretKeys } from '../secret/index.ts';
import {
  type DnsCredentials,
  type DnsProviderSettings,
  type DnsProviderView,
  dnsCredentialsSchema,
  dnsProviderKindSchema,
  dnsProviderSettingsSchema,
} from './schema.ts';

type Row = NonNullable<Awaited<ReturnType<OrganizationCtx['tx']['dnsProvider']['findFirst']>>>;

export function dnsProviderView(row: Omit<Row, 'envelope' | 'dataKeyId' | 'organizationId'>): DnsProviderView {
  return {
    id: parseId('dnp', row.id),
    kind: dnsProviderKindSchema.parse(row.kind),
    zones: row.zones,
    settings: dnsProviderSettingsSchema.parse(row.settings),
    preferred: row.preferred,
    createdAt: row.createdAt,
  };
}

/** Throws dns_provider.not_found. */
export async function requireDnsProvider(ctx: OrganizationCtx, dnsProviderId: string): Promise<Row> {
  const { organizationId } = ctx;
  const row = await ctx.tx.dnsProvider.findFirst({ where: { id: dnsProviderId, organizationId } });
  if (row === null) throw new AppError('dns_provider.not_found', { dnsProviderId });
  return row;
}

/** Throws dns_provider.zone_taken: one zone with two providers would make it unclear which one is called. */
export async function requireFreeZones(ctx: OrganizationCtx, zones: readonly string[], except?: string): Promise<void> {
  const { tx, organizationId } = ctx;
  // Two requests never take one zone.
  await tx.$executeRaw`SELECT pg_advisory_xact_lock(hashtextextended(${`dns zones ${organizationId}`}, 0))`;
  const rows = await tx.dnsProvider.findMany({
    where: { organizationId, zones: { hasSome: [...zones] }, ...(except === undefined ? {} : { id: { not: except } }) },
    select: { zones: true },
  });
  const zone = zones.find((one) => rows.some((row) => row.zones.includes(one)));
  if (zone !== undefined) throw new AppError('dns_provider.zone_taken', { zone });
}

export interface HostZone {
  readonly providerId: string;
  readonly zone: string;
  readonly preferred: boolean;
}

/** Returns a function that finds the provider of a host: the one with its longest zone. */
export async function loadZones(ctx: OrganizationCtx): Promise<(host: string) => HostZone | null> {
  const rows = await ctx.tx.dnsProvider.findMany({
    where: { organizationId: ctx.organizationId },
    select: { id: true, zones: true, preferred: true },
  });
  const zones = rows
    .flatMap(({ id, zones: names, preferred }) => names.map((zone) => ({ providerId: id, zone, preferred })))
    .sort((a, b) => b.zone.length - a.zone.length);
  return (host) => zones.find(({ zone }) => host === zone || host.endsWith(`.${zone}`)) ?? null;
}

/** Parts of credentials as they are stored. */
export interface StoredCredentials {
  readonly settings: Partial<DnsProviderSettings>;
  readonly secret: string;
}

export function splitCredentials(credentials: DnsCredentials): StoredCredentials {
  switch (credentials.kind) {
    case 'route53':
      return { settings: { accessKeyId: credentials.accessKeyId }, secret: credentials.secretAccessKey };
    case 'rfc2136': {
      const { server, keyName, algorithm, secret } = credentials;
      return { settings: { server, keyName, algorithm }, secret };
    }
    default:
      return { settings: {}, secret: credentials.token };
  }
}

/** Decrypts the credentials of a provider. Throws secret.undecryptable. */
export async function openCredentials(
  ctx: OrganizationCtx,
  keys: SecretKeys,
  providerId: string,
): Promise<DnsCredentials | null> {
  const { tx, organizationId } = ctx;
  const row = await tx.dnsProvider.findFirst({
    where: { id: providerId, organizationId },
    include: { dataKey: true },
  });
  if (row === null) return null;
  const { id, envelope, dataKey } = row;
  const secret = (await keys.open(organizationId, { versionId: id, envelope, dataKey })).toString('utf8');
  const { accessKeyId, ...rfc2136 } = dnsProviderSettingsSchema.parse(row.settings);
  const fields = { token: secret, accessKeyId, secretAccessKey: secret, ...rfc2136, secret };
  return dnsCredentialsSchema.parse({ kind: row.kind, ...fields });
}
