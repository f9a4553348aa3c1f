// Reads hosts with their servers, gives these new versions, and clears orders.
import { supports } from '@fairlead/contract/capabilities';
import type { OrganizationCtx } from '../kernel/index.ts';
import { bumpServer, isConnected } from '../server/index.ts';
import { isPublicHost } from './rules.ts';

export interface HostServer {
  readonly id: string;
  /** Connected, and its agent knows certificates. */
  readonly canServe: boolean;
}

/** Returns the servers of each public host, by host. A deleted app's hosts are not among them. */
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
              server: {
                select: {
                  id: true,
                  capabilities: true,
                  connectedGateway: true,
                  lastSeenAt: true,
                },
              },
            },
            orderBy: { position: 'asc' },
          },
        },
      },
    },
    orderBy: { host: 'asc' },
  });
  const hosts = new Map<string, HostServer[]>();
  for (const { host: name, placement } of domains) {
    if (!isPublicHost(name)) continue;
    const servers = hosts.get(name) ?? [];
    for (const { server } of placement.servers) {
      if (servers.some(({ id }) => id === server.id)) continue;
      const canServe = isConnected(server, now) && supports(server.capabilities, 'certificate');
      servers.push({ id: server.id, canServe });
    }
    hosts.set(name, servers);
  }
  return hosts;
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
export const noOrder = { orderServerId: null, orderKeyId: null, orderedAt: null, unreadyServers: {}, step: null };

export async function deleteKey(ctx: OrganizationCtx, keyId: string | null): Promise<void> {
  if (keyId !== null)
    await ctx.tx.certificateKey.deleteMany({ where: { id: keyId, organizationId: ctx.organizationId } });
}
