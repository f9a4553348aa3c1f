// Exports a run with its raw rows.
import { bucketLowerUs, bucketUpperUs, decodeHistogram, type Histogram } from '@fairlead/contract/histogram';
import { AppError, type Ctx } from '../kernel/index.ts';
import { wholeReach } from '../role/index.ts';
import {
  type BenchmarkDocument,
  benchmarkDocumentSchema,
  describeRun,
  proxyFigures,
  runScenarios,
} from './document.ts';
import { toRowView } from './rules.ts';
import { type BenchmarkRef, benchmarkProgramSchema, rowPartSchema } from './schema.ts';
import { loadRuns } from './store.ts';
import { evaluateThresholds } from './thresholds.ts';

export async function exportBenchmark(ctx: Ctx, { runId }: BenchmarkRef): Promise<BenchmarkDocument> {
  const [run] = await loadRuns(ctx, { reach: wholeReach, id: runId, limit: 1 });
  if (run === undefined) throw new AppError('benchmark.not_found', { runId });
  const rows = await ctx.tx.benchmarkRow.findMany({
    where: { runId, organizationId: ctx.organizationId },
    orderBy: { position: 'asc' },
  });
  const { programs } = await ctx.tx.benchmarkRun.findFirstOrThrow({
    where: { id: runId, organizationId: ctx.organizationId },
    select: { programs: true },
  });
  // Parsed, because the columns are wider than the format. A column that the format names is exported as it is.
  return benchmarkDocumentSchema.parse({
    format: 'fairlead-benchmark-2',
    // An imported run keeps the identity of its origin.
    runId: run.origin?.runId ?? runId,
    state: run.state,
    createdAt: run.origin?.createdAt ?? run.createdAt.toISOString(),
    startedAt: run.startedAt?.toISOString() ?? null,
    finishedAt: run.finishedAt?.toISOString() ?? null,
    plan: run.plan,
    facts: run.facts,
    ...describeRun(run.plan, run.facts, rows, benchmarkProgramSchema.array().parse(programs)),
    outcome: run.outcome,
    thresholds: run.state === 'succeeded' ? evaluateThresholds(run.plan.thresholds, rows.map(toRowView)) : [],
    rows: rows.map((row) => ({
      scenario: runScenarios[run.plan.scenario].name,
      ...withNumbers(row),
      connection: run.plan.connection,
      generatorSaturated: row.isSaturated,
      // 0: the processes of the app are not known.
      appCpuUs: row.appCpuUs === 0n ? null : Number(row.appCpuUs),
      latency: bucketsOf(decodeHistogram(row.latency)),
      parts: partsOf(row.parts),
      ...proxyFigures({
        proxyCpuUs: Number(row.proxyCpuUs),
        proxyMemoryBytes: Number(row.proxyMemoryBytes),
      }),
    })),
  });
}

function withNumbers(row: object): object {
  return Object.fromEntries(
    Object.entries(row).map(([key, value]) => [key, typeof value === 'bigint' ? Number(value) : value]),
  );
}

/** Undefined: one server measured the row. */
function partsOf(stored: unknown) {
  const parts = rowPartSchema.array().parse(stored);
  if (parts.length === 0) return undefined;
  return parts.map(({ latency: { sumUs, counts }, ...part }) => ({
    ...part,
    latency: bucketsOf({ sumUs, counts: new Map(counts) }),
  }));
}

function bucketsOf({ counts, sumUs }: Histogram) {
  const buckets = [...counts]
    .sort(([one], [other]) => one - other)
    .map(([index, count]) => [bucketLowerUs(index), bucketUpperUs(index), count]);
  return { sumUs, buckets };
}
