// Hosts under which the local server answers for the dashboard. Their checks, certificates and routes are like those of apps.
import type { OrganizationCtx } from '../kernel/index.ts';

export interface DashboardHost {
  readonly host: string;
  /** The organization's local server. */
  readonly serverId: string;
}

/** Returns none without a local server. Default: all hosts. */
export async function listDashboardHosts(
  { tx, organizationId }: OrganizationCtx,
  hosts?: readonly string[],
): Promise<readonly DashboardHost[]> {
  const domains = await tx.dashboardDomain.findMany({
    where: { organizationId, ...(hosts === undefined ? {} : { host: { in: [...hosts] } }) },
    select: { host: true },
    orderBy: { host: 'asc' },
  });
  if (domains.length === 0) return [];
  const server = await tx.server.findFirst({
    where: { organizationId, isLocal: true },
    select: { id: true },
    orderBy: { createdAt: 'desc' },
  });
  return server === null ? [] : domains.map(({ host }) => ({ host, serverId: server.id }));
}
