// Base domain of a server: its DNS records, and the names that its apps have below it.
import { parseId } from '@fairlead/contract/ids';
import { recordAudit } from '../audit/index.ts';
import { findCoveredBases } from '../deployment-url/index.ts';
import { addressRecords, type ExpectedServer, hostStateSchema, readFindings, zoneOf } from '../host/index.ts';
import { AppError, type Ctx, isPublicHost, notifyChange } from '../kernel/index.ts';
import { publicAddresses } from '../server/index.ts';
import { type HostPolicy, isReservedHost } from './reserved-host.ts';
import type { BaseDomainRef, BaseDomainView, UpdateBaseDomainInput } from './schema.ts';

async function requireServer({ tx, organizationId }: Ctx, serverId: string) {
  const server = await tx.server.findFirst({ where: { id: serverId, organizationId } });
  if (server === null) throw new AppError('server.not_found', { serverId });
  return server;
}

export async function getBaseDomain(ctx: Ctx, { serverId }: BaseDomainRef): Promise<BaseDomainView> {
  const { tx, organizationId } = ctx;
  const server = await requireServer(ctx, serverId);
  const { baseDomain } = server;
  if (baseDomain === null) return { baseDomain, zone: null, certificates: 'each', records: [], names: [] };
  const covered = await findCoveredBases(ctx, new Set([baseDomain]));
  const domains = await tx.domain.findMany({
    where: { organizationId, automatic: true, host: { endsWith: `.${baseDomain}` } },
    select: { id: true, host: true, app: { select: { name: true } }, environment: { select: { name: true } } },
    orderBy: { host: 'asc' },
  });
  const checks = await tx.domainHost.findMany({
    where: { organizationId, host: { in: domains.map(({ host }) => host) } },
    orderBy: { checkedAt: { sort: 'desc', nulls: 'last' } },
  });
  const expected: ExpectedServer = { name: server.name, addresses: publicAddresses(server) };
  const host = `*.${baseDomain}`;
  return {
    baseDomain,
    zone: zoneOf(host),
    certificates: isPublicHost(host) ? (covered.has(baseDomain) ? 'wildcard' : 'each') : 'local',
    // A name below it shows what the wildcard record says.
    records: [...addressRecords(host, [expected], readFindings(checks[0]?.findings))],
    names: domains.map(({ id, host: name, app, environment }) => ({
      domainId: parseId('dom', id),
      host: name,
      appName: app.name,
      environmentName: environment.name,
      state: hostStateSchema.catch('pending').parse(checks.find((each) => each.host === name)?.state),
    })),
  };
}

/** The names of apps follow within seconds. Throws server.not_found, domain.reserved and domain.base_taken. */
export async function updateBaseDomain(
  ctx: Ctx,
  { serverId, baseDomain }: UpdateBaseDomainInput,
  config: HostPolicy,
): Promise<BaseDomainView> {
  const { tx, organizationId } = ctx;
  const server = await requireServer(ctx, serverId);
  if (baseDomain !== null) {
    if (isReservedHost(`app.${baseDomain}`, config)) throw new AppError('domain.reserved', { host: baseDomain });
    const others = await tx.server.count({ where: { organizationId, baseDomain, NOT: { id: serverId } } });
    if (others > 0) throw new AppError('domain.base_taken', { host: baseDomain });
  }
  await tx.server.updateMany({ where: { id: serverId, organizationId }, data: { baseDomain } });
  await recordAudit(ctx, {
    action: 'server.update_base_domain',
    target: { kind: 'server', id: serverId, label: server.name },
    before: { baseDomain: server.baseDomain },
    after: { baseDomain },
  });
  await notifyChange(ctx, { kind: 'server', id: serverId });
  return getBaseDomain(ctx, { serverId });
}
