// Reads published reports: for members by run, with what a publication would show, and for strangers by address.
import { isId, parseId, type ReportId } from '@fairlead/contract/ids';
import type { Ctx, SystemCtx } from '../kernel/index.ts';
import { type BenchmarkDocument, readBenchmarkDocument } from './document.ts';
import { redactedDocument } from './publish-benchmark.ts';
import type { BenchmarkRef, ReportPreview, ReportState } from './schema.ts';

/** Null: the run is not published. */
export async function getReport(ctx: Ctx, { runId }: BenchmarkRef): Promise<ReportState | null> {
  const row = await ctx.tx.benchmarkReport.findFirst({
    where: { runId, organizationId: ctx.organizationId },
    select: { id: true, isIndexed: true, publishedAt: true },
  });
  return row === null ? null : { ...row, id: parseId('rpt', row.id) };
}

/** Returns what strangers would see of the run, without the rows. */
export async function previewReport(ctx: Ctx, input: BenchmarkRef): Promise<ReportPreview> {
  const { title, createdAt, targets, facts, rows } = await redactedDocument(ctx, input);
  return {
    ...{ title, createdAt: new Date(createdAt), rows: rows.length },
    targets: targets.map(({ label }) => label),
    agentVersion: facts?.agentVersion ?? null,
    machine: facts?.machine ?? null,
  };
}

export interface PublishedReport {
  readonly id: ReportId;
  readonly isIndexed: boolean;
  readonly publishedAt: Date;
}

/** Returns null for an unknown address, an unpublished run and a deleted app. System scope: strangers have no organization. */
export async function findReport(
  { tx }: Pick<SystemCtx, 'tx'>,
  { reportId }: { readonly reportId: string },
): Promise<PublishedReport | null> {
  if (!isId('rpt', reportId)) return null;
  const row = await tx.benchmarkReport.findFirst({
    where: { id: reportId, app: { deletion: null } },
    select: { isIndexed: true, publishedAt: true },
  });
  return row === null ? null : { ...row, id: reportId };
}

/** Reads the document of a report that `findReport` found. It is large: callers keep what they make of it. */
export async function readReportDocument(
  { tx }: Pick<SystemCtx, 'tx'>,
  { id }: Pick<PublishedReport, 'id'>,
): Promise<BenchmarkDocument> {
  const { document } = await tx.benchmarkReport.findFirstOrThrow({ where: { id }, select: { document: true } });
  return readBenchmarkDocument(document);
}
