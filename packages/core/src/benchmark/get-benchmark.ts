// Returns the data of a run's page.
import { AppError, type Ctx } from '../kernel/index.ts';
import { wholeReach } from '../role/index.ts';
import { toRowView } from './rules.ts';
import {
  type BenchmarkDetail,
  type BenchmarkRef,
  benchmarkEventSchema,
  benchmarkProgramSchema,
  runServerSchema,
} from './schema.ts';
import { loadRuns } from './store.ts';
import { evaluateThresholds } from './thresholds.ts';

export async function getBenchmark(ctx: Ctx, input: BenchmarkRef): Promise<BenchmarkDetail> {
  const { runId } = input;
  const [run] = await loadRuns(ctx, { reach: wholeReach, id: runId, limit: 1 });
  if (run === undefined) throw new AppError('benchmark.not_found', { runId });
  const rows = await ctx.tx.benchmarkRow.findMany({
    where: { runId, organizationId: ctx.organizationId },
    orderBy: { position: 'asc' },
  });
  const { programs, events, servers } = await ctx.tx.benchmarkRun.findFirstOrThrow({
    where: { id: runId, organizationId: ctx.organizationId },
    select: {
      programs: true,
      events: true,
      servers: {
        select: { serverId: true, name: true, role: true, clockOffsetUs: true, clockUncertaintyUs: true },
        orderBy: { position: 'asc' },
      },
    },
  });
  const views = rows.map(toRowView);
  return {
    ...run,
    servers: servers.map(({ clockOffsetUs, ...server }) =>
      runServerSchema.parse({ ...server, clockOffsetUs: clockOffsetUs === null ? null : Number(clockOffsetUs) }),
    ),
    rows: views,
    thresholds: run.state === 'succeeded' ? evaluateThresholds(run.plan.thresholds, views) : [],
    programs: benchmarkProgramSchema.array().parse(programs),
    events: benchmarkEventSchema.array().parse(events),
    canCancel: run.state === 'queued' || run.state === 'running',
  };
}
