// Fails overdue runs, which their server does not report any more or never started.
import { errorTable } from '@fairlead/contract/errors';
import { parseId } from '@fairlead/contract/ids';
import { recordAudit } from '../audit/index.ts';
import { forOrganization, notifyChange, type SystemCtx } from '../kernel/index.ts';
import { distributedTimeLimitMs } from './distribution.ts';
import { failStalledRun } from './fail-stalled-run.ts';
import { timeLimitMs } from './plan.ts';
import { advanceQueues, serversOf } from './queue.ts';
import { storedPlanSchema } from './schema.ts';

interface ActiveRun {
  readonly id: string;
  readonly organizationId: string;
  readonly serverId: string | null;
  readonly appId: string;
  readonly app: { readonly name: string };
  readonly plan: unknown;
  readonly createdAt: Date;
  readonly startedAt: Date | null;
  readonly servers: readonly { readonly serverId: string }[];
}

/**
 * Fails runs that their server did not finish in time, so that the next one may start. The time of a queued run counts from
 * when the one before it ended. A server that doesn't start that one starts no other: all that wait there fail. Of a distributed
 * run, another server may be the reason: only that run fails.
 */
export async function failOverdueBenchmarks(ctx: SystemCtx): Promise<number> {
  // Keeps the invariant of `lockRuns`: without these locks, this would lock a second run after the servers of the first.
  await ctx.tx.$queryRaw`
    SELECT id FROM benchmark_run WHERE state IN ('queued', 'running') ORDER BY created_at, id FOR UPDATE`;
  const runs = await ctx.tx.benchmarkRun.findMany({
    where: { state: { in: ['queued', 'running'] } },
    select: {
      id: true,
      organizationId: true,
      serverId: true,
      appId: true,
      app: { select: { name: true } },
      plan: true,
      createdAt: true,
      startedAt: true,
      servers: { select: { serverId: true } },
    },
    orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
  });
  // A distributed run is in the queue of each.
  const queues = new Map<string, ActiveRun[]>();
  for (const run of runs) {
    for (const serverId of serversOf(run)) queues.set(serverId, [...(queues.get(serverId) ?? []), run]);
  }
  // A run waits while another server of it is busy.
  const isNext = (run: ActiveRun) => serversOf(run).every((serverId) => queues.get(serverId)?.[0] === run);
  const stalled = new Set<ActiveRun>();
  for (const run of runs) {
    if (run.servers.length === 0 || !(run.startedAt !== null || isNext(run))) continue;
    if (await failStalledRun(ctx, run)) stalled.add(run);
  }
  let failed = stalled.size;
  for (const [serverId, queue] of queues) {
    const [head] = queue;
    if (head !== undefined && (stalled.has(head) || !isNext(head))) continue;
    const overdue = await overdueOf(ctx, serverId, queue);
    for (const run of overdue) failed += await failRun(ctx, run);
    const [first] = overdue;
    if (first === undefined) continue;
    const scope = forOrganization(ctx, parseId('org', first.organizationId));
    await advanceQueues(scope, overdue.flatMap(serversOf));
  }
  return failed;
}

async function overdueOf(
  { tx, clock }: SystemCtx,
  serverId: string,
  queue: readonly ActiveRun[],
): Promise<ActiveRun[]> {
  const nowMs = clock.now().getTime();
  const limitMs = (run: ActiveRun) => {
    const plan = storedPlanSchema.parse(run.plan);
    return run.servers.length > 0 ? distributedTimeLimitMs(plan) : timeLimitMs(plan);
  };
  const isOverdue = (run: ActiveRun, since: Date) => nowMs - since.getTime() >= limitMs(run);
  const started = queue.filter(({ startedAt }) => startedAt !== null);
  const [head] = queue;
  if (head === undefined || started.length > 0) {
    return started.filter((run) => isOverdue(run, run.startedAt ?? run.createdAt));
  }
  const serverIds = [...new Set([serverId, ...serversOf(head)])];
  const before = await tx.benchmarkRun.aggregate({
    where: { OR: [{ serverId: { in: serverIds } }, { servers: { some: { serverId: { in: serverIds } } } }] },
    _max: { finishedAt: true },
  });
  const freeSince = before._max.finishedAt ?? head.createdAt;
  if (!isOverdue(head, freeSince > head.createdAt ? freeSince : head.createdAt)) return [];
  // Another server may be why a distributed run did not start, so this one may still start the next.
  return head.servers.length > 0 ? [head] : [...queue];
}

async function failRun(ctx: SystemCtx, run: ActiveRun): Promise<number> {
  const scope = forOrganization(ctx, parseId('org', run.organizationId));
  const { count } = await ctx.tx.benchmarkRun.updateMany({
    where: { id: run.id, state: { in: ['queued', 'running'] } },
    data: {
      state: 'failed',
      finishedAt: ctx.clock.now(),
      failureCode: 'benchmark.timeout',
      failureMessage: errorTable['benchmark.timeout'].message,
    },
  });
  if (count === 0) return 0;
  await recordAudit(
    { ...scope, actor: { kind: 'system', reason: 'a benchmark was overdue' } },
    {
      action: 'benchmark.fail',
      target: { kind: 'benchmark', id: run.id, label: run.app.name },
      after: { state: 'failed', failureCode: 'benchmark.timeout' },
    },
  );
  await notifyChange(scope, { kind: 'benchmark', id: run.id, appId: run.appId });
  return count;
}
