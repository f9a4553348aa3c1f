// TLS settings of a domain's host: lowest version, HSTS and client certificates. They hold for all paths of the host, and
// take effect at once.
import { X509Certificate } from 'node:crypto';
import { supports } from '@fairlead/contract/capabilities';
import { type AuditFields, recordAudit } from '../audit/index.ts';
import { policyCapabilities } from '../desired-state/index.ts';
import { AppError, type Ctx, notifyChange } from '../kernel/index.ts';
import { bumpServersOf, requireNoPreview } from '../placement/index.ts';
import { type HostPolicySettings, hostPolicySchema, routePolicy, storedPolicySchema } from '../traffic/index.ts';
import type { DomainRef, DomainTls, UpdateDomainTlsInput } from './schema.ts';

const authoritiesMax = 20;

/** Throws domain.not_found. */
export async function getDomainTls(ctx: Ctx, { domainId }: DomainRef): Promise<DomainTls> {
  const { host } = await requireDomain(ctx, domainId);
  return toView(await loadSettings(ctx, host));
}

/** Throws domain.not_found, domain.authorities_invalid, domain.capability_missing and preview.inherited. */
export async function updateDomainTls(ctx: Ctx, { domainId, ...changes }: UpdateDomainTlsInput): Promise<DomainTls> {
  const { tx, organizationId } = ctx;
  const domain = await requireDomain(ctx, domainId);
  if (domain.automatic) await requireNoPreview(ctx, domain);
  const { host } = domain;
  const before = await loadSettings(ctx, host);
  const after = hostPolicySchema.parse({ ...before, ...changes });
  const now = ctx.clock.now();
  if (after.clientAuth !== null && changes.clientAuth !== undefined) requireAuthorities(after.clientAuth.caPem, now);
  const domains = await tx.domain.findMany({
    where: { organizationId, host },
    select: { id: true, appId: true, environmentId: true },
    orderBy: { id: 'asc' },
  });
  await requireCapabilities(ctx, domains, after);
  await tx.hostPolicy.upsert({
    where: { organizationId_host: { organizationId, host } },
    create: { organizationId, host, policy: after },
    update: { policy: after },
  });
  for (const domain of domains) await bumpServersOf(ctx, domain);
  await recordAudit(ctx, {
    action: 'domain.update_tls',
    target: { kind: 'domain', id: domainId, label: host },
    ...changesOf(before, after),
  });
  for (const { appId } of domains) await notifyChange(ctx, { kind: 'app', id: appId, appId });
  return toView(after);
}

interface HostOf {
  readonly host: string;
  readonly environmentId: string;
  readonly automatic: boolean;
}

async function requireDomain({ tx, organizationId }: Ctx, domainId: string): Promise<HostOf> {
  const domain = await tx.domain.findFirst({
    where: { id: domainId, organizationId },
    select: { host: true, environmentId: true, automatic: true },
  });
  if (domain === null) throw new AppError('domain.not_found', { domainId });
  return domain;
}

async function loadSettings({ tx, organizationId }: Ctx, host: string): Promise<HostPolicySettings> {
  const row = await tx.hostPolicy.findUnique({ where: { organizationId_host: { organizationId, host } } });
  return hostPolicySchema.parse(row?.policy ?? {});
}

function readAuthorities(caPem: string): X509Certificate[] {
  const blocks = caPem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  return blocks.map((pem) => new X509Certificate(pem));
}

/** Each block must be a certificate of an authority, and nothing else may be among them. */
function requireAuthorities(caPem: string, now: Date): void {
  const headers = caPem.match(/-----BEGIN /g) ?? [];
  try {
    const authorities = readAuthorities(caPem);
    const isUsable = ({ ca, validFromDate, validToDate }: X509Certificate) =>
      ca && validFromDate.getTime() <= now.getTime() + 3_600_000 && validToDate > now;
    const isCount = authorities.length > 0 && authorities.length <= authoritiesMax;
    if (isCount && authorities.length === headers.length && authorities.every(isUsable)) return;
  } catch (error) {
    throw new AppError('domain.authorities_invalid', {}, { cause: error });
  }
  throw new AppError('domain.authorities_invalid');
}

/** Every server of the host must apply the settings: an older agent would let visitors pass. */
async function requireCapabilities(
  { tx, organizationId }: Ctx,
  domains: readonly { readonly appId: string; readonly environmentId: string }[],
  settings: HostPolicySettings,
): Promise<void> {
  const message = routePolicy(storedPolicySchema.parse({}), settings);
  const needed = message === null ? [] : policyCapabilities(message);
  const placed = await tx.placementServer.findMany({
    where: {
      organizationId,
      placement: { OR: domains.map(({ appId, environmentId }) => ({ appId, environmentId })) },
    },
    select: { server: { select: { name: true, capabilities: true } } },
    orderBy: { serverId: 'asc' },
  });
  for (const { server } of placed) {
    const missing = needed.find((name) => !supports(server.capabilities, name));
    if (missing !== undefined)
      throw new AppError('domain.capability_missing', { server: server.name, capability: missing });
  }
}

function toView(settings: HostPolicySettings): DomainTls {
  const authorities = settings.clientAuth === null ? [] : readAuthorities(settings.clientAuth.caPem);
  return {
    ...settings,
    authorities: authorities.map(({ subject, fingerprint256, validToDate }) => ({
      subject: subject.replaceAll('\n', ', '),
      fingerprint: fingerprint256,
      notAfter: validToDate,
    })),
  };
}

/** Only what differs; of authorities, their fingerprints. */
function changesOf(before: HostPolicySettings, after: HostPolicySettings): { before: AuditFields; after: AuditFields } {
  const side = ({ clientAuth, hsts, minTlsVersion }: HostPolicySettings): Record<string, string> => ({
    minTlsVersion,
    hsts: JSON.stringify(hsts),
    clientAuth:
      clientAuth === null
        ? 'none'
        : `${clientAuth.mode} ${readAuthorities(clientAuth.caPem)
            .map(({ fingerprint256 }) => fingerprint256)
            .join(' ')}`,
  });
  const [was, is] = [side(before), side(after)];
  const names = Object.keys(is).filter((name) => was[name] !== is[name]);
  const pick = (fields: Record<string, string>) => Object.fromEntries(names.map((name) => [name, fields[name] ?? '']));
  return { before: pick(was), after: pick(is) };
}
