// Ends the benchmarks of an app that is deleted, moves or leaves an environment.
import { type Ctx, notifyChange } from '../kernel/index.ts';
import { advanceQueues, lockRuns, serversOf } from './queue.ts';

/** Ends the benchmark runs of an app, without an environment in all of them. Measured rows stay. */
export async function endBenchmarks(
  ctx: Ctx,
  of: { readonly appId: string; readonly environmentId?: string },
): Promise<void> {
  await lockRuns(ctx, of);
  const where = { ...of, organizationId: ctx.organizationId, state: { in: ['queued', 'running'] } };
  const runs = await ctx.tx.benchmarkRun.findMany({
    where,
    select: { id: true, serverId: true, servers: { select: { serverId: true } } },
  });
  await ctx.tx.benchmarkRun.updateMany({ where, data: { state: 'cancelled', finishedAt: ctx.clock.now() } });
  for (const { id } of runs) await notifyChange(ctx, { kind: 'benchmark', id, appId: of.appId });
  await advanceQueues(ctx, runs.flatMap(serversOf));
}
