// Publishes a run as a page without sign-in: stores its redacted document under an unguessable id. Also unpublishes it.
import { newId, type ReportId } from '@fairlead/contract/ids';
import { recordAudit } from '../audit/index.ts';
import { AppError, type Ctx, notifyChange } from '../kernel/index.ts';
import type { BenchmarkDocument } from './document.ts';
import { exportBenchmark } from './export-benchmark.ts';
import { publicDocumentOf } from './public-document.ts';
import type { BenchmarkRef, PublishBenchmarkInput } from './schema.ts';

/** Public reports of one organization: each stores the rows of its run a second time. */
const REPORTS_MAX = 100;
const FINISHED: ReadonlySet<string> = new Set(['succeeded', 'failed', 'cancelled']);

/** Stores the run anew under the same address if it is published already. */
export async function publishBenchmark(ctx: Ctx, input: PublishBenchmarkInput): Promise<{ reportId: ReportId }> {
  const { tx, organizationId } = ctx;
  const { runId, isIndexed } = input;
  const run = await lockRun(ctx, input);
  const document = await redactedDocument(ctx, input);
  const [old, count] = await Promise.all([
    tx.benchmarkReport.findFirst({ where: { runId, organizationId }, select: { id: true, isIndexed: true } }),
    tx.benchmarkReport.count({ where: { organizationId } }),
  ]);
  if (old === null && count >= REPORTS_MAX) throw new AppError('benchmark.reports_max');
  const stored = { document, isIndexed, publishedAt: ctx.clock.now() };
  const reportId = (old?.id ?? newId('rpt')) as ReportId;
  if (old === null) {
    await tx.benchmarkReport.create({ data: { id: reportId, organizationId, runId, appId: run.appId, ...stored } });
  } else {
    await tx.benchmarkReport.updateMany({ where: { id: reportId, organizationId }, data: stored });
  }
  await recordAudit(ctx, {
    action: 'benchmark.publish',
    target: { kind: 'benchmark', id: runId, label: run.appName },
    before: { published: old !== null, isIndexed: old?.isIndexed ?? null },
    after: { published: true, isIndexed, rows: document.rows.length },
  });
  await notifyChange(ctx, { kind: 'benchmark', id: runId, appId: run.appId });
  ctx.log.info({ runId, actor: ctx.actor }, 'published a benchmark report');
  return { reportId };
}

/** Takes effect with the next request for the page. */
export async function unpublishBenchmark(ctx: Ctx, input: BenchmarkRef): Promise<BenchmarkRef> {
  const { runId } = input;
  const run = await lockRun(ctx, input);
  const { count } = await ctx.tx.benchmarkReport.deleteMany({ where: { runId, organizationId: ctx.organizationId } });
  if (count === 0) throw new AppError('benchmark.not_published', { runId });
  await recordAudit(ctx, {
    action: 'benchmark.unpublish',
    target: { kind: 'benchmark', id: runId, label: run.appName },
    before: { published: true },
    after: { published: false },
  });
  await notifyChange(ctx, { kind: 'benchmark', id: runId, appId: run.appId });
  ctx.log.info({ runId, actor: ctx.actor }, 'unpublished a benchmark report');
  return { runId };
}

/** Returns the document as it would be published; throws benchmark.not_publishable without results. */
export async function redactedDocument(ctx: Ctx, { runId }: BenchmarkRef): Promise<BenchmarkDocument> {
  const document = await exportBenchmark(ctx, { runId });
  if (!FINISHED.has(document.state) || document.rows.length === 0) {
    throw new AppError('benchmark.not_publishable', { runId });
  }
  const { origin } = await ctx.tx.benchmarkRun.findFirstOrThrow({
    where: { id: runId, organizationId: ctx.organizationId },
    select: { origin: true },
  });
  return publicDocumentOf(document, { isImported: origin !== null });
}

/** Two people who publish at once get one report. */
async function lockRun({ tx, organizationId }: Ctx, { runId }: BenchmarkRef) {
  await tx.$queryRaw`SELECT id FROM benchmark_run
    WHERE id = ${runId} AND organization_id = ${organizationId} FOR NO KEY UPDATE`;
  const run = await tx.benchmarkRun.findFirst({
    where: { id: runId, organizationId },
    select: { appId: true, app: { select: { name: true } } },
  });
  if (run === null) throw new AppError('benchmark.not_found', { runId });
  return { appId: run.appId, appName: run.app.name };
}
