// Reads hosts with the servers that should answer for them.
import { supports } from '@fairlead/contract/capabilities';
import type { OrganizationCtx } from '../kernel/index.ts';
import { listDashboardHosts, publicAddresses } from '../server/index.ts';
import type { ExpectedServer } from './classify-host.ts';
import { type Findings, findingsSchema } from './schema.ts';

export interface HostServer extends ExpectedServer {
  readonly id: string;
  /** It shares its address with the control plane. */
  readonly isLocal: boolean;
  /** Its proxy can answer a port check. */
  readonly answersPortCheck: boolean;
}

export interface Host {
  readonly servers: readonly HostServer[];
  /** Apps with a domain of the host. */
  readonly appIds: readonly string[];
}

const serverFields = {
  id: true,
  name: true,
  isLocal: true,
  capabilities: true,
  interfaceAddresses: true,
  connectionAddress: true,
  enteredAddresses: true,
} as const;

/** Loads the servers of each host, the primary one first. Hosts without a domain are not among the result. */
export async function loadHosts(ctx: OrganizationCtx, hosts: readonly string[]): Promise<ReadonlyMap<string, Host>> {
  const { tx, organizationId } = ctx;
  const domains = await tx.domain.findMany({
    where: { organizationId, host: { in: [...hosts] } },
    select: {
      host: true,
      appId: true,
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
    orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
  });
  const own = await listDashboardHosts(ctx, hosts);
  const local = await tx.server.findMany({
    where: { organizationId, id: { in: own.map(({ serverId }) => serverId) } },
    select: serverFields,
  });
  const found = [
    ...own.map(({ host }) => ({ host, appId: null, servers: local })),
    ...domains.map(({ host, appId, placement }) => ({
      host,
      appId,
      servers: placement.servers.map(({ server }) => server),
    })),
  ];
  return new Map(
    [...Map.groupBy(found, ({ host }) => host)].map(([host, rows]) => {
      const servers = rows.flatMap((row) => row.servers);
      const unique = [...new Map(servers.map((server) => [server.id, server])).values()];
      return [
        host,
        {
          appIds: [...new Set(rows.flatMap(({ appId }) => appId ?? []))],
          servers: unique.map((server) => ({
            id: server.id,
            name: server.name,
            isLocal: server.isLocal,
            answersPortCheck: supports(server.capabilities, 'certificate.challenge'),
            addresses: publicAddresses(server),
          })),
        },
      ];
    }),
  );
}

/** Findings of another version that this one can't read count as none. */
export function readFindings(stored: unknown): Findings | null {
  return findingsSchema.safeParse(stored).data ?? null;
}
