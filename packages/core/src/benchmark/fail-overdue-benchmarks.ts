// Fails overdue runs, which their server does not report any more.
import { errorTable } from '@fairlead/contract/errors';
import { parseId } from '@fairlead/contract/ids';
import { recordAudit } from '../audit/index.ts';
import { forOrganization, notifyChange, type SystemCtx } from '../kernel/index.ts';
import { bumpServer } from '../server/index.ts';
import { timeLimitMs } from './plan.ts';
import { storedPlanSchema } from './schema.ts';

/** Fails runs that their server did not finish in time, so that the next one may start. */
export async function failOverdueBenchmarks(ctx: SystemCtx): Promise<number> {
  const now = ctx.clock.now();
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
    },
    orderBy: { serverId: 'asc' },
  });
  let failed = 0;
  for (const run of runs) {
    const since = run.startedAt ?? run.createdAt;
    if (now.getTime() - since.getTime() < timeLimitMs(storedPlanSchema.parse(run.plan))) continue;
    const scope = forOrganization(ctx, parseId('org', run.organizationId));
    const { count } = await ctx.tx.benchmarkRun.updateMany({
      where: { id: run.id, state: { in: ['queued', 'running'] } },
      data: {
        state: 'failed',
        finishedAt: now,
        failureCode: 'benchmark.timeout',
        failureMessage: errorTable['benchmark.timeout'].message,
      },
    });
    if (count === 0) continue;
    await bumpServer(scope, run.serverId);
    await recordAudit(
      { ...scope, actor: { kind: 'system', reason: 'a benchmark was overdue' } },
      {
        action: 'benchmark.fail',
        target: { kind: 'benchmark', id: run.id, label: run.app.name },
        after: { state: 'failed', failureCode: 'benchmark.timeout' },
      },
    );
    await notifyChange(scope, { kind: 'benchmark', id: run.id, appId: run.appId });
    failed += 1;
  }
  return failed;
}
