// Returns the data of an app's page, in one of its environments.
import { parseId } from '@fairlead/contract/ids';
import { findNewestConfig } from '../config/index.ts';
import { type BuildSlots, explainApp } from '../deployment/index.ts';
import { type AppLinks, domainUrl, hasPolicy } from '../domain/index.ts';
import { AppError, type Ctx } from '../kernel/index.ts';
import { type Reach, wholeReach } from '../role/index.ts';
import { secretsProblemSchema } from '../secret/index.ts';
import { hostInfoSchema, isConnected } from '../server/index.ts';
import { templates } from '../template/index.ts';
import { type AppDetail, type GetAppInput, instanceStateSchema } from './schema.ts';
import { loadApps } from './store.ts';

/**
 * Without an environment in the input, it uses the primary one, or else the oldest that may be seen.
 */
export async function getApp(
  ctx: Ctx,
  input: GetAppInput,
  links: AppLinks & { readonly buildSlots?: BuildSlots },
  reach: Reach = wholeReach,
): Promise<AppDetail> {
  const { organizationId } = ctx;
  const { slug, environmentId } = input;
  const [app] = await loadApps(ctx, { reach, slug, environmentId, order: 'name', limit: 1 }, links);
  if (app === undefined) throw new AppError('app.not_found', { slug });
  const { summary, row } = app;
  const placement = { appId: summary.id, environmentId: summary.environmentId, organizationId };
  const instances = await ctx.tx.instance.findMany({
    where: placement,
    include: { release: { select: { number: true } }, server: { select: { name: true } } },
    orderBy: [{ startedAt: 'asc' }, { id: 'asc' }],
  });
  const domains = await ctx.tx.domain.findMany({
    where: placement,
    select: { id: true, host: true, pathPrefix: true, policy: true },
    orderBy: [{ createdAt: 'asc' }, { host: 'asc' }, { pathPrefix: 'asc' }],
  });
  const { settings } = await findNewestConfig(ctx, placement);
  const image = settings.builder === 'image' ? settings.image : null;
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
      serverId: parseId('srv', instance.serverId),
      serverName: instance.server.name,
      process: instance.process,
      cpuMillis: instance.cpuMillis,
      memoryBytes: Number(instance.memoryBytes),
      pid: instance.pid,
      port: instance.port,
      restarts: instance.restarts,
      detail: instance.detail,
      startedAt: instance.startedAt,
      reportedAt: instance.reportedAt,
    })),
    domains: domains.map(({ id, host, pathPrefix, policy }) => ({
      id: parseId('dom', id),
      host,
      pathPrefix,
      url: domainUrl({ host, pathPrefix }, row.serverIsLocal, links),
      hasPolicy: hasPolicy(policy),
    })),
    serverConnected: app.serverConnected,
    secretsProblem: secretsProblemSchema.nullable().parse(row.secretsProblem),
    waiting: await explainApp(ctx, placement, links.buildSlots, reach),
    deploysPaused: row.deploysPausedAt !== null,
    image,
    template: image === null && summary.repositoryUrl === '' ? await findTemplate(ctx, summary.id) : null,
    placements: await loadPlacements(ctx, summary, reach),
  };
}

/** Returns the title of the template that the app was created from, unless an upload has replaced it. */
async function findTemplate({ tx, organizationId }: Ctx, appId: string): Promise<string | null> {
  // The first deployment uploads the template itself.
  const later = { where: { trigger: 'upload', number: { gt: 1 } }, select: { id: true }, take: 1 };
  const { template, deployments } = await tx.app.findFirstOrThrow({
    where: { id: appId, organizationId },
    select: { template: true, deployments: later },
  });
  if (template === null || deployments.length > 0) return null;
  return templates.find(({ id }) => id === template)?.title ?? template;
}

/** Loads the environments that may be seen, the primary one first. */
async function loadPlacements(
  ctx: Ctx,
  { id: appId, projectId, environmentId: shown }: Pick<AppDetail, 'id' | 'projectId' | 'environmentId'>,
  reach: Reach,
): Promise<AppDetail['placements']> {
  const now = ctx.clock.now();
  const rows = await ctx.tx.placement.findMany({
    where: {
      appId,
      organizationId: ctx.organizationId,
      servers: { some: {} },
      // Previews are listed on a page of their own, but the shown one stays.
      environment: { OR: [{ kind: 'standard' }, { id: shown }] },
      ...(reach.everywhere || reach.projectIds.includes(projectId)
        ? {}
        : { environmentId: { in: [...reach.environmentIds] } }),
    },
    include: {
      environment: true,
      servers: { include: { server: true, liveRelease: { select: { number: true } } }, orderBy: { position: 'asc' } },
    },
    orderBy: [{ isPrimary: 'desc' }, { createdAt: 'asc' }, { id: 'asc' }],
  });
  return rows.map(({ environmentId, environment, branch, servers }) => ({
    environmentId: parseId('env', environmentId),
    environmentName: environment.name,
    protected: environment.protected,
    branch,
    liveReleaseNumber: servers[0]?.liveRelease?.number ?? null,
    servers: servers.map(({ serverId, server, liveRelease }) => ({
      serverId: parseId('srv', serverId),
      serverName: server.name,
      connected: isConnected(server, now),
      cpuCount: hostInfoSchema.parse(server.hostInfo).cpuCount,
      liveReleaseNumber: liveRelease?.number ?? null,
    })),
  }));
}
