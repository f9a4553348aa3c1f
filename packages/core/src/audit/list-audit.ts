// Lists the audit log page by page, newest first.
import { type CountedPage, type Ctx, toPage } from '../kernel/index.ts';
import { loadNames } from './load-names.ts';
import type { AuditEventView, ListAuditInput, NamedAuditEvent } from './schema.ts';
import { countAudit, loadAudit } from './store.ts';

export async function listAudit(ctx: Ctx, input: ListAuditInput): Promise<CountedPage<NamedAuditEvent>> {
  const { cursor, limit, ...filter } = input;
  const rows = await loadAudit(ctx, { ...filter, order: 'newest', after: sequenceOf(cursor), limit: limit + 1 });
  const names = await loadNames(ctx, rows.flatMap(idsOf));
  const page = toPage(
    rows,
    limit,
    (row) => String(row.sequence),
    (row) => ({ ...row, names: namesOf(row, names) }),
  );
  return { ...page, total: cursor ? null : await countAudit(ctx, filter) };
}

/** A cursor that is no sequence of ours finds nothing, as one of a foreign list would. */
function sequenceOf(cursor: string | null | undefined): bigint | null {
  if (cursor === null || cursor === undefined) return null;
  return /^\d{1,15}$/.test(cursor) ? BigInt(cursor) : 0n;
}

function idsOf({ before, after }: AuditEventView): string[] {
  const values = [...Object.values(before ?? {}), ...Object.values(after ?? {})].flat();
  return values.filter((value) => typeof value === 'string');
}

function namesOf(event: AuditEventView, names: ReadonlyMap<string, string>): Record<string, string> {
  return Object.fromEntries(
    idsOf(event).flatMap((id) => {
      const name = names.get(id);
      return name === undefined ? [] : [[id, name]];
    }),
  );
}
