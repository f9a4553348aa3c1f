// Removes a domain of the dashboard. The public URL of the settings and the other domains keep working; agents that connect
// to the removed one lose the control plane, and links that lead there break.
import { recordAudit } from '../audit/index.ts';
import { forOperator, type OperatorCtx } from '../control-plane/index.ts';
import { type OrganizationCtx, reservedSince } from '../kernel/index.ts';
import { bumpServer, listDashboardHosts } from '../server/index.ts';
import type { DashboardDomainRef } from './schema.ts';
import { notifyAddresses, requireDashboardDomain } from './store.ts';

/**
 * Throws control_plane.domain_not_found. Jobs delete its check and its certificate. No app gets a domain that has answered
 * until the sessions of its visitors have ended.
 */
export async function deleteDashboardDomain(
  operator: OperatorCtx,
  input: DashboardDomainRef,
): Promise<DashboardDomainRef> {
  const ctx = forOperator(operator);
  const { id, host, answeredAt } = await requireDashboardDomain(ctx, input);
  const [own] = await listDashboardHosts(ctx, [host]);
  await ctx.tx.dashboardDomain.deleteMany({ where: { id, organizationId: ctx.organizationId } });
  if (answeredAt !== null) await reserveHost(ctx, host);
  if (own !== undefined) await bumpServer(ctx, own.serverId);
  await recordAudit(ctx, {
    action: 'control_plane.delete_domain',
    target: { kind: 'dashboard_domain', id, label: host },
    before: { answeredAt: answeredAt?.toISOString() ?? null },
  });
  await notifyAddresses(ctx);
  return input;
}

/** Reserves the host, and forgets those that are reserved no longer. */
async function reserveHost(ctx: OrganizationCtx, host: string): Promise<void> {
  const { tx, organizationId, clock } = ctx;
  await tx.removedDashboardDomain.deleteMany({
    where: { organizationId, OR: [{ host }, { removedAt: { lte: reservedSince(ctx) } }] },
  });
  await tx.removedDashboardDomain.create({ data: { organizationId, host, removedAt: clock.now() } });
}
