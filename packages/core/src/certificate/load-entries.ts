// Loads what the list and the page show of certificates: names, times, servers and domains.
import { type DomainId, parseId, type ServerId } from '@fairlead/contract/ids';
import type { Ctx } from '../kernel/index.ts';
import { type Reach, whereReached } from '../role/index.ts';
import { listDashboardHosts } from '../server/index.ts';
import { certificateView } from './certificate-view.ts';
import type { CertificateEntry, CertificateSource, CertificateState } from './schema.ts';
import { covers } from './uploads.ts';

/** Certificate of the list, before its details are loaded. */
export interface EntryKey {
  readonly id: string;
  readonly source: CertificateSource;
  readonly state: CertificateState;
}

/** Returns the certificates in the order of `keys`. One that was deleted since is missing. */
export async function loadEntries(ctx: Ctx, keys: readonly EntryKey[], reach: Reach): Promise<CertificateEntry[]> {
  const { tx, organizationId } = ctx;
  const now = ctx.clock.now();
  const idsOf = (source: EntryKey['source']) => keys.filter((key) => key.source === source).map(({ id }) => id);
  const ordered = await tx.certificate.findMany({ where: { organizationId, id: { in: idsOf('acme') } } });
  const uploads = await tx.uploadedCertificate.findMany({ where: { organizationId, id: { in: idsOf('upload') } } });
  const local = await tx.domain.findMany({
    where: { organizationId, id: { in: idsOf('local') } },
    select: { id: true, host: true },
  });
  const facts = new Map<string, EntryFacts>([
    ...ordered.map(
      (row): Fact => [row.id, { ...certificateView(row, now), names: [row.host], notBefore: row.notBefore }],
    ),
    ...uploads.map((row): Fact => [row.id, uploadFacts(row)]),
    ...local.map(
      ({ id, host }): Fact => [id, { ...none, id: parseId('dom', id), host, names: [host], issuer: 'Local CA' }],
    ),
  ]);
  const domains = await loadDomains(
    ctx,
    [...facts.values()].flatMap(({ names }) => names),
    reach,
  );
  return keys.flatMap(({ id, source, state }) => {
    const found = facts.get(id);
    if (found === undefined) return [];
    const own = domains.filter(
      ({ id: domainId, host }) =>
        // No upload serves the dashboard.
        (domainId !== null || source !== 'upload') && found.names.some((name) => covers(name, host)),
    );
    const servers = new Map(own.flatMap((domain) => domain.servers).map((server) => [server.id, server]));
    return [
      {
        ...found,
        source,
        state,
        servers: [...servers.values()],
        domains: own.flatMap(({ id: domainId, host }) => (domainId === null ? [] : [{ id: domainId, host }])),
      },
    ];
  });
}

type EntryFacts = Omit<CertificateEntry, 'servers' | 'domains' | 'source' | 'state'>;
type Fact = [string, EntryFacts];

const none = {
  issuer: null,
  notBefore: null,
  notAfter: null,
  renewAt: null,
  step: null,
  failure: null,
  nextAttemptAt: null,
} as const;

export interface UploadRow {
  readonly id: string;
  readonly names: readonly string[];
  readonly issuer: string;
  readonly notBefore: Date;
  readonly notAfter: Date;
}

export function uploadFacts({ id, names, issuer, notBefore, notAfter }: UploadRow) {
  return {
    ...none,
    id: parseId('ucr', id),
    host: names[0] ?? '',
    names: [...names],
    issuer,
    notBefore,
    notAfter,
  };
}

interface CoveredDomain {
  /** Null for a domain of the dashboard, which has no page of its own. */
  readonly id: DomainId | null;
  readonly host: string;
  readonly servers: readonly { readonly id: ServerId; readonly name: string }[];
}

/** Returns one domain of each host that the names cover, with all servers of the host. Those of the dashboard need the whole reach. */
async function loadDomains(ctx: Ctx, names: readonly string[], reach: Reach): Promise<CoveredDomain[]> {
  const { tx, organizationId } = ctx;
  const wildcards = names.filter((name) => name.startsWith('*.')).map((name) => name.slice(1));
  const rows = await tx.domain.findMany({
    where: {
      organizationId,
      environment: whereReached(reach),
      OR: [{ host: { in: [...names] } }, ...wildcards.map((suffix) => ({ host: { endsWith: suffix } }))],
    },
    select: {
      id: true,
      host: true,
      placement: {
        select: { servers: { select: { server: { select: { id: true, name: true } } }, orderBy: { position: 'asc' } } },
      },
    },
    orderBy: [{ host: 'asc' }, { pathPrefix: 'asc' }],
  });
  const domains = [...Map.groupBy(rows, ({ host }) => host).values()].flatMap((same): CoveredDomain[] => {
    const [first] = same;
    if (first === undefined) return [];
    const servers = new Map(
      same.flatMap(({ placement }) => placement.servers).map(({ server }) => [server.id, server.name]),
    );
    return [
      {
        id: parseId('dom', first.id),
        host: first.host,
        servers: [...servers].map(([id, name]) => ({ id: parseId('srv', id), name })),
      },
    ];
  });
  if (!reach.everywhere) return domains;
  const own = await listDashboardHosts(ctx);
  const servers = await tx.server.findMany({
    where: { organizationId, id: { in: own.map(({ serverId }) => serverId) } },
    select: { id: true, name: true },
  });
  const local = servers.map(({ id, name }) => ({ id: parseId('srv', id), name }));
  return [...domains, ...own.map(({ host }) => ({ id: null, host, servers: local }))];
}
