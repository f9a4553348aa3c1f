// Lists the dashboard's domains with their DNS records and certificates.
import { parseId } from '@fairlead/contract/ids';
import { readHostCertificate } from '../certificate/index.ts';
import { forOperator, type OperatorCtx } from '../control-plane/index.ts';
import { readHost } from '../host/index.ts';
import { answeredHosts, type DashboardFacts, dashboardUrl, suggestedHost } from './rules.ts';
import type { DashboardDomains, DashboardDomainView } from './schema.ts';

export async function listDashboardDomains(
  operator: OperatorCtx,
  facts: DashboardFacts,
  acmeDirectoryUrl: string,
): Promise<DashboardDomains> {
  const ctx = forOperator(operator);
  const rows = await ctx.tx.dashboardDomain.findMany({
    where: { organizationId: ctx.organizationId },
    select: { id: true, host: true, answeredAt: true },
    orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
  });
  const [current] = answeredHosts(rows);
  const items: DashboardDomainView[] = [];
  for (const { id, host, answeredAt } of rows) {
    items.push({
      id: parseId('dsd', id),
      host,
      url: dashboardUrl(host, facts),
      isCurrent: host === current,
      answeredAt,
      dns: await readHost(ctx, host, null),
      certificate: await readHostCertificate(ctx, { host, automatic: false }, acmeDirectoryUrl),
    });
  }
  const { reach, settingsUrl } = facts;
  return {
    reach,
    settingsUrl,
    publicUrl: current === undefined ? settingsUrl : dashboardUrl(current, facts),
    suggestedHost: suggestedHost(facts),
    items,
  };
}
