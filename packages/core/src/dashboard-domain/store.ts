// Finds a domain of the dashboard, and notifies the processes that know its addresses.
import { dashboardChannel } from '@fairlead/contract/notify';
import { AppError, type OrganizationCtx } from '../kernel/index.ts';
import type { DashboardDomainRef } from './schema.ts';

/** Throws control_plane.domain_not_found. */
export async function requireDashboardDomain(
  { tx, organizationId }: OrganizationCtx,
  { dashboardDomainId }: DashboardDomainRef,
): Promise<{ readonly id: string; readonly host: string; readonly answeredAt: Date | null }> {
  const row = await tx.dashboardDomain.findFirst({
    where: { id: dashboardDomainId, organizationId },
    select: { id: true, host: true, answeredAt: true },
  });
  if (row === null) throw new AppError('control_plane.domain_not_found', { dashboardDomainId });
  return row;
}

/** Fires when the transaction commits. */
export async function notifyAddresses({ tx }: Pick<OrganizationCtx, 'tx'>): Promise<void> {
  await tx.$executeRaw`SELECT pg_notify(${dashboardChannel}, '')`;
}
