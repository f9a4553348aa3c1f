// Adds a domain of the dashboard. The local server answers there at once; links lead there once it has answered with a
// certificate, so the addresses before it keep working.
import { newId } from '@fairlead/contract/ids';
import { recordAudit } from '../audit/index.ts';
import { forOperator, type OperatorCtx } from '../control-plane/index.ts';
import { type HostPolicy, lockHosts } from '../domain/index.ts';
import { claimHost, findUnservedHosts } from '../host/index.ts';
import { AppError, isHostAtOrBelow, isPublicHost, withDeletedApps } from '../kernel/index.ts';
import { bumpServer, listDashboardHosts } from '../server/index.ts';
import type { DashboardFacts } from './rules.ts';
import type { AddDashboardDomainInput, DashboardDomainRef } from './schema.ts';

/** Certificates of all of them are renewed, and all of them can sign people in. */
const domainsMax = 5;

/**
 * Throws control_plane.domain_unavailable, control_plane.domain_in_use, control_plane.domain_too_many, domain.not_public and
 * domain.reserved.
 */
export async function addDashboardDomain(
  operator: OperatorCtx,
  { host }: AddDashboardDomainInput,
  { reach, controlHost }: Pick<DashboardFacts, 'reach'> & Pick<HostPolicy, 'controlHost'>,
): Promise<DashboardDomainRef> {
  const ctx = forOperator(operator);
  const { tx, organizationId, clock } = ctx;
  if (reach !== 'served') throw new AppError('control_plane.domain_unavailable');
  if (!isPublicHost(host)) throw new AppError('domain.not_public', { host });
  if (isHostAtOrBelow(host, controlHost)) throw new AppError('domain.reserved', { host });
  await lockHosts(ctx, [host]);
  if ((await tx.dashboardDomain.count({ where: { organizationId } })) >= domainsMax)
    throw new AppError('control_plane.domain_too_many');
  // A deleted app keeps its host names, so that it can be restored.
  const used = await withDeletedApps(ctx, () => tx.domain.count({ where: { host } }));
  const inUse = new AppError('control_plane.domain_in_use', { host });
  if (used > 0 || (await tx.dashboardDomain.count({ where: { host } })) > 0) throw inUse;
  await claimHost(ctx, host);
  if ((await findUnservedHosts(operator, organizationId, [host])).has(host)) throw inUse;
  const id = newId('dsd');
  await tx.dashboardDomain.create({ data: { id, organizationId, host, createdAt: clock.now() } });
  const [own] = await listDashboardHosts(ctx, [host]);
  if (own === undefined) throw new AppError('control_plane.domain_unavailable');
  await bumpServer(ctx, own.serverId);
  await recordAudit(ctx, {
    action: 'control_plane.add_domain',
    target: { kind: 'dashboard_domain', id, label: host },
  });
  return { dashboardDomainId: id };
}
