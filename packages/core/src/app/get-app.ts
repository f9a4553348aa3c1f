// Owns what the page of one app shows.
import { parseId } from '@fairlead/contract/ids';
import { type AppLinks, domainUrl } from '../domain/index.ts';
import { AppError, type Ctx } from '../kernel/index.ts';
import { wholeReach } from '../role/index.ts';
import { type AppDetail, type GetAppInput, instanceStateSchema } from './schema.ts';
import { loadApps } from './store.ts';

export async function getApp(ctx: Ctx, input: GetAppInput, links: AppLinks): Promise<AppDetail> {
  const { organizationId } = ctx;
  const [app] = await loadApps(ctx, { reach: wholeReach, slug: input.slug, order: 'name', limit: 1 }, links);
  if (app === undefined) throw new AppError('app.not_found', { slug: input.slug });
  const { summary, row } = app;
  const instances = await ctx.tx.instance.findMany({
    where: { organizationId, appId: summary.id, environmentId: summary.environmentId },
    include: { release: { select: { number: true } } },
    orderBy: [{ startedAt: 'asc' }, { id: 'asc' }],
  });
  const domains = await ctx.tx.domain.findMany({
    where: { organizationId, appId: summary.id },
    select: { id: true, host: true },
    orderBy: [{ createdAt: 'asc' }, { host: 'asc' }],
  });
  return {
    ...summary,
    command: row.command,
    healthPath: row.healthPath,
    instancesWanted: row.instancesWanted,
    instances: instances.map((instance) => ({
      id: parseId('ins', instance.id),
      state: instanceStateSchema.parse(instance.state),
      releaseId: parseId('rel', instance.releaseId),
      releaseNumber: instance.release.number,
      pid: instance.pid,
      port: instance.port,
      restarts: instance.restarts,
      detail: instance.detail,
      startedAt: instance.startedAt,
      reportedAt: instance.reportedAt,
    })),
    domains: domains.map(({ id, host }) => ({
      id: parseId('dom', id),
      host,
      url: domainUrl(host, row.serverIsLocal, links),
    })),
    serverConnected: app.serverConnected,
  };
}
