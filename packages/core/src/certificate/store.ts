// Reads hosts with their servers, gives these new versions, and clears orders.
import { supports } from '@fairlead/contract/capabilities';
import { isPublicHost, type OrganizationCtx } from '../kernel/index.ts';
import { bumpServer, isConnected, listDashboardHosts } from '../server/index.ts';
import { findBaseWildcards } from './base-domains.ts';

export interface HostServer {
  readonly id: string;
  /** Connected, and its agent knows certificates. */
  readonly canServe: boolean;
  /** It can also prove hosts by DNS-01 and TLS-ALPN-01. */
  readonly canProve: boolean;
}

const serverFields = { id: true, capabilities: true, connectedGateway: true, lastSeenAt: true } as const;

/** Returns the servers of each public host and of each base domain's wildcard. A deleted app's hosts are not among them. */
export async function loadHosts(
  ctx: OrganizationCtx,
  host?: string,
): Promise<ReadonlyMap<string, readonly HostServer[]>> {
  const { tx, organizationId } = ctx;
  const now = ctx.clock.now();
  const domains = await tx.domain.findMany({
    where: { organizationId, ...(host === undefined ? {} : { host }) },
    select: {
      host: true,
      placement: {
        select: {
          servers: {
            select: {
              server: { select: serverFields },
            },
            orderBy: { position: 'asc' },
          },
        },
      },
    },
    orderBy: { host: 'asc' },
  });
  const own = await listDashboardHosts(ctx, host === undefined ? undefined : [host]);
  const local = await tx.server.findMany({
    where: { organizationId, id: { in: own.map(({ serverId }) => serverId) } },
    select: serverFields,
  });
  const hosts = new Map<string, HostServer[]>();
  for (const { name, of } of [
    ...own.map((each) => ({ name: each.host, of: local })),
    ...domains.map((each) => ({ name: each.host, of: each.placement.servers.map(({ server }) => server) })),
  ]) {
    if (!isPublicHost(name)) continue;
    const servers = hosts.get(name) ?? [];
    for (const server of of) {
      if (servers.some(({ id }) => id === server.id)) continue;
      servers.push(hostServer(server, now));
    }
    hosts.set(name, servers);
  }
  if (host?.startsWith('*.') === false) return hosts;
  const wildcards = new Map([...(await findBaseWildcards(ctx))].filter(([, name]) => name === (host ?? name)));
  const bases = await tx.server.findMany({
    where: { organizationId, id: { in: [...wildcards.keys()] } },
    select: serverFields,
  });
  for (const server of bases) {
    const name = wildcards.get(server.id) ?? '';
    const others = (hosts.get(name) ?? []).filter(({ id }) => id !== server.id);
    hosts.set(name, [hostServer(server, now), ...others]);
  }
  return hosts;
}

interface ServerRow {
  readonly id: string;
  readonly capabilities: string[];
  readonly connectedGateway: string | null;
  readonly lastSeenAt: Date | null;
}

function hostServer(server: ServerRow, now: Date): HostServer {
  const canServe = isConnected(server, now) && supports(server.capabilities, 'certificate');
  const canProve = canServe && supports(server.capabilities, 'certificate.challenge');
  return { id: server.id, canServe, canProve };
}

/** Gives the servers of a host a new version of desired state, in the order of their ids so that two callers never block each other. */
export async function bumpServersOfHost(ctx: OrganizationCtx, host: string): Promise<Readonly<Record<string, number>>> {
  const servers = (await loadHosts(ctx, host)).get(host) ?? [];
  const versions: Record<string, number> = {};
  for (const { id } of [...servers].sort((a, b) => (a.id < b.id ? -1 : 1))) {
    versions[id] = Number(await bumpServer(ctx, id));
  }
  return versions;
}

/** Fields of a certificate without an order. */
export const noOrder = {
  orderServerId: null,
  orderKeyId: null,
  orderedAt: null,
  unreadyServers: {},
  respondersSince: null,
  proofs: [],
  step: null,
};

export async function deleteKey(ctx: OrganizationCtx, keyId: string | null): Promise<void> {
  if (keyId !== null)
    await ctx.tx.certificateKey.deleteMany({ where: { id: keyId, organizationId: ctx.organizationId } });
}
