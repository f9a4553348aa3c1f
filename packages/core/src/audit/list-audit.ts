// Lists the audit log page by page, newest first.
import { type Ctx, type Page, toPage } from '../kernel/index.ts';
import type { AuditEventView, ListAuditInput } from './schema.ts';
import { loadAudit } from './store.ts';

export async function listAudit(ctx: Ctx, input: ListAuditInput): Promise<Page<AuditEventView>> {
  const { cursor, limit, ...filter } = input;
  const rows = await loadAudit(ctx, { ...filter, order: 'newest', after: sequenceOf(cursor), limit: limit + 1 });
  return toPage(
    rows,
    limit,
    (row) => String(row.sequence),
    (row) => row,
  );
}

/** A cursor that is no sequence of ours finds nothing, as one of a foreign list would. */
function sequenceOf(cursor: string | null | undefined): bigint | null {
  if (cursor === null || cursor === undefined) return null;
  return /^\d{1,15}$/.test(cursor) ? BigInt(cursor) : 0n;
}
