// Ends the benchmarks of an app in an environment that it leaves.
import { type Ctx, notifyChange } from '../kernel/index.ts';
import { notifyQueue } from './queue.ts';

/** Ends the benchmark runs of a placement. The caller notifies the servers. Measured rows stay. */
export async function endBenchmarks(
  ctx: Ctx,
  placement: { readonly appId: string; readonly environmentId: string },
): Promise<void> {
  const where = { ...placement, organizationId: ctx.organizationId, state: { in: ['queued', 'running'] } };
  const runs = await ctx.tx.benchmarkRun.findMany({ where, select: { id: true, serverId: true } });
  await ctx.tx.benchmarkRun.updateMany({ where, data: { state: 'cancelled', finishedAt: ctx.clock.now() } });
  for (const { id } of runs) await notifyChange(ctx, { kind: 'benchmark', id, appId: placement.appId });
  for (const serverId of new Set(runs.flatMap((run) => run.serverId ?? []))) await notifyQueue(ctx, serverId);
}
