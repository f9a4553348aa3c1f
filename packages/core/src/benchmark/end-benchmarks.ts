// Ends the benchmarks of an app in an environment that it leaves.
import { type Ctx, notifyChange } from '../kernel/index.ts';
import { advanceQueues, serversOf } from './queue.ts';

/** Ends the benchmark runs of a placement. Measured rows stay. */
export async function endBenchmarks(
  ctx: Ctx,
  placement: { readonly appId: string; readonly environmentId: string },
): Promise<void> {
  const where = { ...placement, organizationId: ctx.organizationId, state: { in: ['queued', 'running'] } };
  const runs = await ctx.tx.benchmarkRun.findMany({
    where,
    select: { id: true, serverId: true, servers: { select: { serverId: true } } },
  });
  await ctx.tx.benchmarkRun.updateMany({ where, data: { state: 'cancelled', finishedAt: ctx.clock.now() } });
  for (const { id } of runs) await notifyChange(ctx, { kind: 'benchmark', id, appId: placement.appId });
  await advanceQueues(ctx, runs.flatMap(serversOf));
}
