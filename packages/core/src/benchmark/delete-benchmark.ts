// Deletes a finished run with its rows.
import { recordAudit } from '../audit/index.ts';
import { AppError, type Ctx, notifyChange } from '../kernel/index.ts';
import type { BenchmarkRef } from './schema.ts';

/** Throws benchmark.not_found, benchmark.not_finished and benchmark.published. */
export async function deleteBenchmark(ctx: Ctx, { runId }: BenchmarkRef): Promise<BenchmarkRef> {
  const { tx, organizationId } = ctx;
  const run = await tx.benchmarkRun.findFirst({
    where: { id: runId, organizationId },
    select: {
      appId: true,
      state: true,
      createdAt: true,
      app: { select: { name: true } },
      report: { select: { id: true } },
    },
  });
  if (run === null) throw new AppError('benchmark.not_found', { runId });
  const { count } = await tx.benchmarkRun.deleteMany({
    where: { id: runId, organizationId, state: { notIn: ['queued', 'running'] }, report: null },
  });
  if (count === 0 && run.report !== null) throw new AppError('benchmark.published', { runId });
  if (count === 0) throw new AppError('benchmark.not_finished', { runId });
  await recordAudit(ctx, {
    action: 'benchmark.delete',
    target: { kind: 'benchmark', id: runId, label: run.app.name },
    before: { state: run.state, createdAt: run.createdAt.toISOString() },
  });
  await notifyChange(ctx, { kind: 'benchmark', id: runId, appId: run.appId });
  return { runId };
}
