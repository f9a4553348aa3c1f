// Exports a run with its raw rows.
import { bucketLowerUs, bucketUpperUs, decodeHistogram } from '@fairlead/contract/histogram';
import { AppError, type Ctx } from '../kernel/index.ts';
import { wholeReach } from '../role/index.ts';
import { type BenchmarkDocument, benchmarkDocumentSchema } from './document.ts';
import { toRowView } from './rules.ts';
import type { BenchmarkRef } from './schema.ts';
import { loadRuns } from './store.ts';
import { evaluateThresholds } from './thresholds.ts';

export async function exportBenchmark(ctx: Ctx, { runId }: BenchmarkRef): Promise<BenchmarkDocument> {
  const [run] = await loadRuns(ctx, { reach: wholeReach, id: runId, limit: 1 });
  if (run === undefined) throw new AppError('benchmark.not_found', { runId });
  const rows = await ctx.tx.benchmarkRow.findMany({
    where: { runId, organizationId: ctx.organizationId },
    orderBy: { position: 'asc' },
  });
  // Parsed, because the columns are wider than the format.
  return benchmarkDocumentSchema.parse({
    format: 'fairlead-benchmark-1',
    runId,
    state: run.state,
    createdAt: run.createdAt.toISOString(),
    startedAt: run.startedAt?.toISOString() ?? null,
    finishedAt: run.finishedAt?.toISOString() ?? null,
    plan: run.plan,
    facts: run.facts,
    outcome: run.outcome,
    thresholds: run.state === 'succeeded' ? evaluateThresholds(run.plan.thresholds, rows.map(toRowView)) : [],
    rows: rows.map((row) => ({
      ...row,
      requests: Number(row.requests),
      errors: Number(row.errors),
      latency: latencyOf(row.latency),
      proxyCpuUs: Number(row.proxyCpuUs),
      proxyMemoryBytes: Number(row.proxyMemoryBytes),
      bytesReceived: Number(row.bytesReceived),
    })),
  });
}

function latencyOf(bytes: Uint8Array) {
  const { counts, sumUs } = decodeHistogram(bytes);
  const buckets = [...counts]
    .sort(([one], [other]) => one - other)
    .map(([index, count]) => [bucketLowerUs(index), bucketUpperUs(index), count]);
  return { sumUs, buckets };
}
