// Changes tags and note of a run. What it measured never changes.
import { changedFields, recordAudit } from '../audit/index.ts';
import { AppError, type Ctx, notifyChange } from '../kernel/index.ts';
import type { BenchmarkRef, UpdateBenchmarkInput } from './schema.ts';

/** Throws benchmark.not_found. */
export async function updateBenchmark(ctx: Ctx, { runId, tags, note }: UpdateBenchmarkInput): Promise<BenchmarkRef> {
  const { tx, organizationId } = ctx;
  const run = await tx.benchmarkRun.findFirst({
    where: { id: runId, organizationId },
    select: { appId: true, tags: true, note: true, app: { select: { name: true } } },
  });
  if (run === null) throw new AppError('benchmark.not_found', { runId });
  await tx.benchmarkRun.updateMany({
    where: { id: runId, organizationId },
    data: { ...(tags === undefined ? {} : { tags }), ...(note === undefined ? {} : { note }) },
  });
  const { before, after } = changedFields({ tags: run.tags, note: run.note }, { tags, note });
  await recordAudit(ctx, {
    action: 'benchmark.update',
    target: { kind: 'benchmark', id: runId, label: run.app.name },
    before,
    after,
  });
  await notifyChange(ctx, { kind: 'benchmark', id: runId, appId: run.appId });
  return { runId };
}
