// Cancels a benchmark run on a user's request.
import { recordAudit } from '../audit/index.ts';
import { AppError, type Ctx, notifyChange } from '../kernel/index.ts';
import { advanceQueues, serversOf } from './queue.ts';
import type { BenchmarkRef } from './schema.ts';

/** Takes effect immediately: the plan leaves the desired state of its servers. Measured rows stay. */
export async function cancelBenchmark(ctx: Ctx, input: BenchmarkRef): Promise<BenchmarkRef> {
  const { organizationId } = ctx;
  const { runId } = input;
  const run = await ctx.tx.benchmarkRun.findFirst({
    where: { id: runId, organizationId },
    select: {
      serverId: true,
      servers: { select: { serverId: true } },
      appId: true,
      state: true,
      app: { select: { name: true } },
    },
  });
  if (run === null) throw new AppError('benchmark.not_found', { runId });
  const { count } = await ctx.tx.benchmarkRun.updateMany({
    where: { id: runId, organizationId, state: { in: ['queued', 'running'] } },
    data: { state: 'cancelled', finishedAt: ctx.clock.now() },
  });
  if (count === 0) throw new AppError('benchmark.already_finished', { runId });
  await recordAudit(ctx, {
    action: 'benchmark.cancel',
    target: { kind: 'benchmark', id: runId, label: run.app.name },
    before: { state: run.state },
    after: { state: 'cancelled' },
  });
  await notifyChange(ctx, { kind: 'benchmark', id: runId, appId: run.appId });
  await advanceQueues(ctx, serversOf(run));
  return { runId };
}
