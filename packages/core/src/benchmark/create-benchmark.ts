// Starts a benchmark: checks its target and plan, and puts it into the queue of its server.
import { isDeepStrictEqual } from 'node:util';
import { supports } from '@fairlead/contract/capabilities';
import { newId } from '@fairlead/contract/ids';
import { recordAudit } from '../audit/index.ts';
import { AppError, actorUserId, type Ctx, notifyChange } from '../kernel/index.ts';
import { requirePlacement } from '../placement/index.ts';
import { bumpServer, isConnected } from '../server/index.ts';
import { readFacts } from './facts.ts';
import { hasOwnLoad, mayChangeData, pathsOf } from './load.ts';
import { rowsOf } from './plan.ts';
import { lockQueue } from './queue.ts';
import { isPathAtOrBelow } from './rules.ts';
import {
  type BenchmarkRef,
  type BenchmarkTrigger,
  benchmarkPlanSchema,
  type CreateBenchmarkInput,
  storedPlanSchema,
} from './schema.ts';

/** Host of the lab's certificate. */
const LAB_HOST = 'bench.localhost';

/** Queues a run on the app's own server. One runs at a time there: two would measure each other. */
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
  const server = await tx.server.findFirstOrThrow({
    where: { id: serverId, organizationId },
    select: { id: true, connectedGateway: true, lastSeenAt: true, capabilities: true },
  });
  if (!isConnected(server, ctx.clock.now())) throw new AppError('server.not_connected', { serverId: server.id });
  if (hasOwnLoad(plan.load) && !supports(server.capabilities, 'benchmark.load')) {
    throw new AppError('benchmark.load_unsupported', { serverId: server.id });
  }

  const domains = await tx.domain.findMany({
    where: { appId, organizationId, environmentId, NOT: { host: { startsWith: '*.' } } },
    select: { host: true, pathPrefix: true },
    orderBy: [{ createdAt: 'asc' }, { host: 'asc' }, { pathPrefix: 'asc' }],
  });
  // Only domains of this app: a benchmark must not put load on another owner's server.
  const paths = pathsOf(plan);
  const serves = (host: string, path: string) =>
    domains.some((domain) => domain.host === host && isPathAtOrBelow(path, domain.pathPrefix));
  const host =
    plan.upstream === 'lab'
      ? LAB_HOST
      : domains.find(
          (domain) => (plan.host ?? domain.host) === domain.host && paths.every((path) => serves(domain.host, path)),
        )?.host;
  if (host === undefined) throw new AppError('benchmark.no_domain', { appId });

  const createdAt = await lockQueue(ctx, server.id, appId);
  const runId = newId('run');
  await tx.benchmarkRun.create({
    data: {
      id: runId,
      organizationId,
      appId,
      environmentId,
      serverId: server.id,
      state: 'queued',
      plan: storedPlanSchema.parse({ ...plan, host }),
      planName,
      trigger,
      facts: await readFacts(ctx, { serverId: server.id, releaseId: liveReleaseId }),
      rowsTotal: rowsOf(plan),
      actorUserId: actorUserId(ctx.actor),
      createdAt,
    },
  });
  await bumpServer(ctx, server.id);
  await recordAudit(ctx, {
    action: 'benchmark.create',
    target: { kind: 'benchmark', id: runId, label: host },
    after: { appId, environmentId, serverId: server.id, rows: rowsOf(plan), mayChangeData: mayChangeData(plan) },
  });
  await notifyChange(ctx, { kind: 'benchmark', id: runId, appId });
  ctx.log.info({ runId, appId, actor: ctx.actor }, 'queued a benchmark');
  return { runId };
}

/** Throws benchmark_plan.not_found for one of another app or environment, and benchmark_plan.outdated if it is another plan. */
async function savedNameOf(
  { tx, organizationId }: Ctx,
  { appId, environmentId, planId, plan }: CreateBenchmarkInput & { readonly environmentId: string },
): Promise<string | null> {
  if (planId === undefined) return null;
  const saved = await tx.benchmarkPlan.findFirst({
    where: { id: planId, appId, environmentId, organizationId },
    select: { name: true, plan: true },
  });
  if (saved === null) throw new AppError('benchmark_plan.not_found', { planId });
  if (!isDeepStrictEqual(benchmarkPlanSchema.parse(saved.plan), plan)) {
    throw new AppError('benchmark_plan.outdated', { planId });
  }
  return saved.name;
}
