// Stores a domain: the host and path that route to an app.
// Invariant: never reveals who else has a host.
import { newId } from '@fairlead/contract/ids';
import { findProtected } from '../deployment/index.ts';
import { isDeploymentHost } from '../deployment-url/index.ts';
import { claimHost } from '../host/index.ts';
import {
  AppError,
  type Ctx,
  isExcluded,
  isUniqueViolation,
  type OrganizationCtx,
  reservedSince,
  withDeletedApps,
} from '../kernel/index.ts';
import { type Reach, whereReached } from '../role/index.ts';
import { domainLabel, type Route } from './rules.ts';

export interface NewRoute extends Route {
  readonly appId: string;
  readonly environmentId: string;
}

/**
 * Returns its id. Another organization may have the same host; its owner serves it (`host/conflicts.ts`). Its paths lead to apps
 * on the same servers, because a client of a host reaches only these. `reach` is where the caller may write domains. It must contain the new
 * domain's environment and those of the host's other domains, because all paths of a host share its cookies and its name.
 * Throws permission.denied, domain.deployment_name, domain.was_dashboard, domain.taken, domain.protection_differs and domain.elsewhere.
 */
export async function createRoute(ctx: Ctx, route: NewRoute, reach: Reach): Promise<string> {
  const { organizationId } = ctx;
  const { appId, environmentId, host, pathPrefix } = route;
  if (isDeploymentHost(host)) throw new AppError('domain.deployment_name', { host });
  // Without the lock, two concurrent calls could both find an unused host.
  await lockHosts(ctx, [host]);
  // A deleted app keeps its host names, so that it can be restored.
  await withDeletedApps(ctx, async () => {
    await requireReached(ctx, route, reach);
    await requireSameProtection(ctx, route);
    await requireSameServers(ctx, route);
  });
  const ofDashboard = await ctx.tx.dashboardDomain.count({ where: { organizationId, host } });
  if (ofDashboard > 0) throw new AppError('domain.reserved', { host });
  await requireUnreserved(ctx, host);
  await claimHost(ctx, host);
  const id = newId('dom');
  const createdAt = ctx.clock.now();
  try {
    await ctx.tx.domain.create({ data: { id, organizationId, appId, environmentId, host, pathPrefix, createdAt } });
  } catch (error) {
    if (isUniqueViolation(error) || isExcluded(error, 'domain_host_of_one_organization'))
      throw new AppError('domain.taken', { host: domainLabel(route) }, { cause: error });
    throw error;
  }
  return id;
}

async function requireUnreserved(ctx: Ctx, host: string): Promise<void> {
  const isServed = (name: string) => name === host || `*${name.slice(name.indexOf('.'))}` === host;
  if ((await listReservedHosts(ctx)).some(isServed)) throw new AppError('domain.was_dashboard', { host });
}

/** Returns the hosts that the dashboard had until recently: browsers may send its session cookies there. */
export async function listReservedHosts(ctx: OrganizationCtx): Promise<string[]> {
  const { tx, organizationId } = ctx;
  const removed = await tx.removedDashboardDomain.findMany({
    where: { organizationId, removedAt: { gt: reservedSince(ctx) } },
    select: { host: true },
  });
  return removed.map(({ host }) => host);
}

/** Locks host names until the transaction ends, so that no other one routes them. */
export async function lockHosts(ctx: OrganizationCtx, hosts: readonly string[]): Promise<void> {
  for (const host of [...new Set(hosts)].sort()) {
    // One key for all organizations: which claim is the first must be certain.
    const key = `host ${host}`;
    await ctx.tx.$executeRaw`SELECT pg_advisory_xact_lock(hashtextextended(${key}, 0))`;
  }
}

async function requireReached(ctx: Ctx, route: NewRoute, reach: Reach): Promise<void> {
  const { organizationId } = ctx;
  const { environmentId, host } = route;
  const there = { id: environmentId, organizationId, ...whereReached(reach) };
  if (!reach.everywhere && (await ctx.tx.environment.count({ where: there })) === 0)
    throw new AppError('permission.denied', { permission: 'domain.write' });
  const hidden = { organizationId, host, NOT: { environment: whereReached(reach) } };
  if (!reach.everywhere && (await ctx.tx.domain.count({ where: hidden })) > 0)
    throw new AppError('domain.taken', { host: domainLabel(route) });
}

/**
 * The paths of a host share its cookies and its name. Deployments to an unprotected environment need no approval, so
 * it never serves a path of a protected one's host. Not even an approver can allow it, because that would cover all
 * later code.
 */
async function requireSameProtection(ctx: Ctx, { environmentId, host }: NewRoute): Promise<void> {
  const { tx, organizationId } = ctx;
  const others = await tx.domain.findMany({ where: { organizationId, host }, select: { environmentId: true } });
  const ids = [...new Set([environmentId, ...others.map((other) => other.environmentId)])];
  const protectedCount = (await findProtected(ctx, ids)).length;
  if (protectedCount > 0 && protectedCount < ids.length) throw new AppError('domain.protection_differs', { host });
}

async function requireSameServers(ctx: Ctx, { appId, environmentId, host }: NewRoute): Promise<void> {
  const { organizationId } = ctx;
  const others = await ctx.tx.domain.findMany({
    where: { organizationId, host },
    select: { appId: true, environmentId: true },
  });
  if (others.length === 0) return;
  const placements = await ctx.tx.placement.findMany({
    where: { organizationId, OR: [{ appId, environmentId }, ...others] },
    select: { appId: true, environmentId: true, servers: { select: { serverId: true } } },
  });
  // Every server of a host must have all of its paths, or another app would answer for the missing ones.
  const serversOf = (placement: { readonly appId: string; readonly environmentId: string }) =>
    placements
      .filter((row) => row.appId === placement.appId && row.environmentId === placement.environmentId)
      .flatMap(({ servers }) => servers.map(({ serverId }) => serverId))
      .sort()
      .join();
  const own = serversOf({ appId, environmentId });
  if (others.some((other) => serversOf(other) !== own)) throw new AppError('domain.elsewhere', { host });
}
