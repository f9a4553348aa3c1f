// Wildcard certificates of base domains. One serves the names of all apps directly below its base domain.
import { loadZones } from '../dns-provider/index.ts';
import { isPublicHost, type OrganizationCtx } from '../kernel/index.ts';

/** Time before a wildcard expires at which its names order certificates of their own, if its renewal fails. */
const fallbackMs = 3 * 24 * 3_600_000;

/** Returns the wildcards of base domains with apps, by server: those that a DNS provider can prove, or that are certified. */
export async function findBaseWildcards(ctx: OrganizationCtx): Promise<ReadonlyMap<string, string>> {
  const { tx, organizationId } = ctx;
  const servers = await tx.server.findMany({
    where: { organizationId, baseDomain: { not: null }, placements: { some: {} } },
    select: { id: true, baseDomain: true },
  });
  const names = servers.flatMap(({ id, baseDomain }) => {
    const name = `*.${baseDomain}`;
    return isPublicHost(name) ? [[id, name] as const] : [];
  });
  if (names.length === 0) return new Map();
  const zoneOf = await loadZones(ctx);
  const certified = await tx.certificate.findMany({
    where: { organizationId, host: { in: names.map(([, name]) => name) }, notAfter: { gt: ctx.clock.now() } },
    select: { host: true },
  });
  const hosts = new Set(certified.map(({ host }) => host));
  return new Map(names.filter(([, name]) => zoneOf(name) !== null || hosts.has(name)));
}

export interface CoveredHosts {
  /** Names of apps that need no order of their own. */
  readonly covered: ReadonlySet<string>;
  /** Names with an issued wildcard, which no longer use a certificate of their own. */
  readonly superseded: ReadonlySet<string>;
}

/** A name orders its own certificate if its wildcard is not issued and failed, or can't be renewed in time. */
export async function findCoveredHosts(ctx: OrganizationCtx): Promise<CoveredHosts> {
  const { tx, organizationId } = ctx;
  const wildcards = [...(await findBaseWildcards(ctx)).values()];
  if (wildcards.length === 0) return { covered: new Set(), superseded: new Set() };
  const rows = await tx.certificate.findMany({
    where: { organizationId, host: { in: wildcards } },
    select: { host: true, keyId: true, notAfter: true, failedAt: true },
  });
  const late = new Date(ctx.clock.now().getTime() + fallbackMs);
  const issued = new Set(
    rows.flatMap(({ host, keyId, notAfter }) => (keyId !== null && notAfter !== null && notAfter > late ? host : [])),
  );
  const failed = new Set(rows.flatMap(({ host, failedAt }) => (failedAt !== null && !issued.has(host) ? host : [])));
  const domains = await tx.domain.findMany({ where: { organizationId, automatic: true }, select: { host: true } });
  const below = (names: (wildcard: string) => boolean) =>
    new Set(domains.flatMap(({ host }) => (names(wildcardOf(host)) ? host : [])));
  return {
    covered: below((wildcard) => wildcards.includes(wildcard) && !failed.has(wildcard)),
    superseded: below((wildcard) => issued.has(wildcard)),
  };
}

export interface CertifiedHost {
  readonly host: string;
  /** True for a name below a base domain. */
  readonly automatic: boolean;
}

/** Returns the row of the certificate that serves a host; null: none was ordered. */
export async function findServing({ tx, organizationId }: OrganizationCtx, { host, automatic }: CertifiedHost) {
  const wildcard = automatic ? wildcardOf(host) : host;
  const rows = await tx.certificate.findMany({ where: { organizationId, host: { in: [host, wildcard] } } });
  const shared = rows.find((row) => row.host === wildcard) ?? null;
  return shared?.keyId == null ? (rows.find((row) => row.host === host) ?? shared) : shared;
}

function wildcardOf(host: string): string {
  return `*${host.slice(host.indexOf('.'))}`;
}
