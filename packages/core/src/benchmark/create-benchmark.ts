// Starts a benchmark: checks its target and plan, and puts it into the queue of its server.
import { isDeepStrictEqual } from 'node:util';
import { newId } from '@fairlead/contract/ids';
import { recordAudit } from '../audit/index.ts';
import { defaultSettings, findNewestConfig, listensOnSocket, settingsSchema } from '../config/index.ts';
import { findVerifiedHosts } from '../host/index.ts';
import { AppError, actorUserId, type Ctx, notifyChange } from '../kernel/index.ts';
import { requirePlacement } from '../placement/index.ts';
import { releasePlanSchema } from '../release/schema.ts';
import { readFacts } from './facts.ts';
import { copiesRelease, mayChangeData, pathsOf } from './load.ts';
import { rowsOf } from './plan.ts';
import { bumpServers, lockQueues } from './queue.ts';
import { isPathAtOrBelow } from './rules.ts';
import { requireRunServers } from './run-servers.ts';
import {
  type BenchmarkPlan,
  type BenchmarkRef,
  type BenchmarkTrigger,
  benchmarkPlanSchema,
  type CreateBenchmarkInput,
  storedPlanSchema,
} from './schema.ts';

/** Host of the lab's certificate. */
const LAB_HOST = 'bench.localhost';

/**
 * Queues a run on the app's own server, and on its load servers. One runs at a time on each: two would measure each other. Throws
 * server.not_found for a load server of another organization.
 */
export async function createBenchmark(
  ctx: Ctx,
  input: CreateBenchmarkInput,
  trigger: BenchmarkTrigger = 'manual',
): Promise<BenchmarkRef> {
  const { tx, organizationId } = ctx;
  const { appId, plan } = input;
  const { environmentId, serverId, liveReleaseId } = await requirePlacement(ctx, input);
  const planName = await savedNameOf(ctx, { ...input, environmentId });
  if (liveReleaseId === null) throw new AppError('app.not_live', { appId });
  const loadServerIds = input.loadServerIds ?? [];
  const servers = await requireRunServers(ctx, {
    ...{ appId, environmentId, serverId, liveReleaseId, plan, loadServerIds },
    mustBeConnected: true,
  });

  await requireSettings(ctx, { appId, environmentId }, plan);
  if (copiesRelease(plan)) await requireCopyable(ctx, { appId, releaseId: liveReleaseId });
  const host = await hostOf(ctx, { appId, environmentId }, plan, loadServerIds.length > 0);

  const createdAt = await lockQueues(
    ctx,
    servers.map(({ id }) => id),
    appId,
  );
  const runId = newId('run');
  await tx.benchmarkRun.create({
    data: {
      id: runId,
      organizationId,
      appId,
      environmentId,
      serverId,
      state: 'queued',
      plan: storedPlanSchema.parse({ ...plan, host }),
      planName,
      trigger,
      facts: await readFacts(ctx, { serverId, releaseId: liveReleaseId }),
      rowsTotal: rowsOf(plan),
      actorUserId: actorUserId(ctx.actor),
      createdAt,
    },
  });
  if (loadServerIds.length > 0) {
    await tx.benchmarkRunServer.createMany({
      data: servers.map(({ id, ...server }, position) => ({
        runId,
        organizationId,
        serverId: id,
        position,
        ...server,
      })),
    });
  }
  await bumpServers(
    ctx,
    servers.map(({ id }) => id),
  );
  await recordAudit(ctx, {
    action: 'benchmark.create',
    target: { kind: 'benchmark', id: runId, label: host },
    after: {
      ...{ appId, environmentId, serverId, rows: rowsOf(plan), mayChangeData: mayChangeData(plan) },
      ...(copiesRelease(plan) ? { copiedReleaseId: liveReleaseId } : {}),
      ...(loadServerIds.length === 0 ? {} : { loadServerIds }),
    },
  });
  await notifyChange(ctx, { kind: 'benchmark', id: runId, appId });
  ctx.log.info({ runId, appId, actor: ctx.actor }, 'queued a benchmark');
  return { runId };
}

/** Throws benchmark.not_copyable: two instances must not write to a volume, and other proxies can't reach a Unix socket. */
async function requireCopyable(
  { tx, organizationId }: Ctx,
  { appId, releaseId }: { readonly appId: string; readonly releaseId: string },
): Promise<void> {
  const { config, plan, artifactKind } = await tx.release.findFirstOrThrow({
    where: { id: releaseId, organizationId },
    select: { plan: true, artifactKind: true, config: { select: { settings: true } } },
  });
  const settings = config === null ? defaultSettings : settingsSchema.parse(config.settings);
  const onSocket = artifactKind === 'archive' && listensOnSocket(settings, releasePlanSchema.parse(plan));
  if (settings.volumes.length > 0 || onSocket) throw new AppError('benchmark.not_copyable', { appId });
}

/** Returns the host of the requests. Requests to a copy use no route, so they need no domain. */
async function hostOf(
  ctx: Ctx,
  where: { readonly appId: string; readonly environmentId: string },
  plan: BenchmarkPlan,
  isDistributed: boolean,
): Promise<string> {
  if (plan.upstream === 'live') {
    const hosts = await findHosts(ctx, where, plan);
    return isDistributed ? await requireVerified(ctx, hosts) : hosts[0];
  }
  if (!copiesRelease(plan)) return LAB_HOST;
  const domain = await ctx.tx.domain.findFirst({
    where: {
      ...{ ...where, organizationId: ctx.organizationId, NOT: { host: { startsWith: '*.' } } },
      ...(plan.host === undefined ? {} : { host: plan.host }),
    },
    select: { host: true },
    orderBy: [{ createdAt: 'asc' }, { host: 'asc' }, { pathPrefix: 'asc' }],
  });
  if (domain === null && plan.host !== undefined) throw new AppError('benchmark.no_domain', { appId: where.appId });
  return domain?.host ?? LAB_HOST;
}

/** Throws benchmark.never_sleeps or benchmark.no_grpc if the app's newest settings don't fit the plan. */
async function requireSettings(
  ctx: Ctx,
  placement: { readonly appId: string; readonly environmentId: string },
  { scenario, upstream, protocols }: BenchmarkPlan,
): Promise<void> {
  const isGrpc = upstream === 'live' && protocols.includes('grpc');
  if (scenario !== 'wake' && !isGrpc) return;
  const { autoscaling, traffic } = (await findNewestConfig(ctx, placement)).settings;
  const { appId } = placement;
  if (scenario === 'wake' && autoscaling?.instancesMin !== 0) throw new AppError('benchmark.never_sleeps', { appId });
  if (isGrpc && traffic.upstreamProtocol !== 'http2') throw new AppError('benchmark.no_grpc', { appId });
}

/**
 * Returns the first host that is known to be the organization's own: several servers must not put load on a stranger's. Throws
 * benchmark.host_unverified.
 */
async function requireVerified(ctx: Ctx, hosts: readonly [string, ...string[]]): Promise<string> {
  const verified = await findVerifiedHosts(ctx, hosts);
  const host = hosts.find((each) => verified.has(each));
  if (host === undefined) throw new AppError('benchmark.host_unverified', { host: hosts[0] });
  return host;
}

/**
 * Returns the plan's host, or those of the app with all paths of the plan, the first one first: a benchmark must not put load on
 * another owner's app. Throws benchmark.no_domain and benchmark.foreign_path.
 */
async function findHosts(
  { tx, organizationId }: Ctx,
  { appId, environmentId }: { readonly appId: string; readonly environmentId: string },
  plan: BenchmarkPlan,
): Promise<[string, ...string[]]> {
  const own = await tx.domain.findMany({
    where: { appId, organizationId, environmentId, NOT: { host: { startsWith: '*.' } } },
    select: { host: true, pathPrefix: true },
    orderBy: [{ createdAt: 'asc' }, { host: 'asc' }, { pathPrefix: 'asc' }],
  });
  const paths = pathsOf(plan);
  const isServed = (host: string, path: string) =>
    own.some((domain) => domain.host === host && isPathAtOrBelow(path, domain.pathPrefix));
  const hosts = own
    .map(({ host }) => host)
    .filter((host) => (plan.host ?? host) === host && paths.every((path) => isServed(host, path)));
  if (hosts.length === 0) throw new AppError('benchmark.no_domain', { appId });
  const all = await tx.domain.findMany({
    where: { organizationId, host: { in: hosts } },
    select: { host: true, pathPrefix: true, appId: true, environmentId: true },
  });
  // As the proxy does, which gives a request to the longest prefix.
  const ownerOf = (host: string, path: string) =>
    all
      .filter((domain) => domain.host === host && isPathAtOrBelow(path, domain.pathPrefix))
      .toSorted((one, other) => other.pathPrefix.length - one.pathPrefix.length)[0];
  const isOwn = (host: string, path: string) => {
    const owner = ownerOf(host, path);
    return owner?.appId === appId && owner.environmentId === environmentId;
  };
  const [first, ...others] = [...new Set(hosts)].filter((host) => paths.every((path) => isOwn(host, path)));
  if (first === undefined) throw new AppError('benchmark.foreign_path', { appId });
  return [first, ...others];
}

/**
 * Throws benchmark_plan.not_found for a plan of another app or environment, and benchmark_plan.outdated if the saved plan
 * differs or has other load servers.
 */
async function savedNameOf(
  { tx, organizationId }: Ctx,
  { appId, environmentId, planId, plan, loadServerIds = [] }: CreateBenchmarkInput & { readonly environmentId: string },
): Promise<string | null> {
  if (planId === undefined) return null;
  const saved = await tx.benchmarkPlan.findFirst({
    where: { id: planId, appId, environmentId, organizationId },
    select: { name: true, plan: true, loadServerIds: true },
  });
  if (saved === null) throw new AppError('benchmark_plan.not_found', { planId });
  const isSame =
    isDeepStrictEqual(benchmarkPlanSchema.parse(saved.plan), plan) &&
    isDeepStrictEqual(saved.loadServerIds.toSorted(), loadServerIds.toSorted());
  if (!isSame) {
    throw new AppError('benchmark_plan.outdated', { planId });
  }
  return saved.name;
}
