// Exports the audit log as NDJSON or CSV: every event that matches a filter, oldest first. Each page has its own
// transaction: the log only grows, so pages cannot overlap or skip.
import { z } from 'zod';
import type { OrganizationCtx } from '../kernel/index.ts';
import type { AuditEventView, AuditFilter } from './schema.ts';
import { loadAudit } from './store.ts';

export const exportFormatSchema = z.enum(['ndjson', 'csv']);
export type ExportFormat = z.infer<typeof exportFormatSchema>;

const pageSize = 500;

/** `inScope` runs one read in a transaction of the organization. */
export async function* exportAudit(
  inScope: <T>(read: (ctx: OrganizationCtx) => Promise<T>) => Promise<T>,
  filter: AuditFilter,
  format: ExportFormat,
): AsyncGenerator<string, void> {
  if (format === 'csv') yield `${columns.join(',')}\r\n`;
  const line = format === 'csv' ? csvLine : jsonLine;
  let after: bigint | null = null;
  for (;;) {
    const seen: bigint | null = after;
    const events = await inScope((ctx) => loadAudit(ctx, { ...filter, order: 'oldest', after: seen, limit: pageSize }));
    const last = events.at(-1);
    if (last === undefined) return;
    yield events.map(line).join('');
    after = BigInt(last.sequence);
  }
}

function jsonLine(event: AuditEventView): string {
  return `${JSON.stringify(event)}\n`;
}

const columns = [
  'sequence',
  'at',
  'actor_kind',
  'actor_id',
  'actor_name',
  'ip',
  'action',
  'target_kind',
  'target_id',
  'target_label',
  'before',
  'after',
  'id',
  'hash',
] as const;

function csvLine(event: AuditEventView): string {
  const cells = [
    String(event.sequence),
    event.at.toISOString(),
    event.actor.kind,
    event.actor.id,
    event.actor.name ?? '',
    event.ip ?? '',
    event.action,
    event.target.kind,
    event.target.id,
    event.target.label,
    event.before === null ? '' : JSON.stringify(event.before),
    event.after === null ? '' : JSON.stringify(event.after),
    event.id,
    event.hash,
  ];
  return `${cells.map(csvCell).join(',')}\r\n`;
}

/** RFC 4180, section 2. Spreadsheets run a leading = + - @ as a formula, and names are user input. */
export function csvCell(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
