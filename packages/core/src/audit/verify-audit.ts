// Verifies the audit log: it follows the chain and reports the first broken link. The log's owner in the database
// could still rebuild the whole chain; a head that is stored elsewhere reveals that.
import type { OrganizationCtx } from '../kernel/index.ts';
import type { AuditVerdict, BrokenLink, VerifyAuditInput } from './schema.ts';

interface LinkRow {
  readonly sequence: bigint;
  readonly eventId: string;
  readonly hash: string;
  readonly present: boolean;
  readonly holds: boolean;
}

const pageSize = 10_000;

export async function verifyAudit(ctx: OrganizationCtx, input: VerifyAuditInput): Promise<AuditVerdict> {
  let head: { sequence: bigint; hash: string } = { sequence: 0n, hash: '' };
  let broken: BrokenLink | null = null;
  for (;;) {
    const rows = await nextLinks(ctx, head);
    for (const row of rows) {
      broken = brokenLink(row, head.sequence + 1n);
      // A known hash of an early link is only comparable once that link is reached.
      broken ??= row.sequence === BigInt(input.known?.sequence ?? 0) ? compare(row, input.known?.hash) : null;
      if (broken !== null) break;
      head = { sequence: row.sequence, hash: row.hash };
    }
    if (broken !== null || rows.length < pageSize) break;
  }
  if (broken === null && input.known !== undefined && head.sequence < BigInt(input.known.sequence)) {
    broken = { sequence: Number(head.sequence) + 1, eventId: null, reason: 'missing' };
  }
  broken ??= await findUnlinked(ctx);
  return {
    whole: broken === null,
    checked: Number(head.sequence),
    head: head.sequence === 0n ? null : { sequence: Number(head.sequence), hash: head.hash },
    broken,
  };
}

async function nextLinks(ctx: OrganizationCtx, head: { sequence: bigint; hash: string }): Promise<LinkRow[]> {
  return ctx.tx.$queryRaw<LinkRow[]>`
    SELECT link.sequence, link.event_id AS "eventId", link.hash, event.id IS NOT NULL AS present,
           coalesce(link.hash = guard.audit_hash(
             lag(link.hash, 1, ${head.hash}) OVER (ORDER BY link.sequence), link.sequence, event), false) AS holds
    FROM audit_link AS link
    LEFT JOIN audit_event AS event ON event.id = link.event_id AND event.organization_id = link.organization_id
    WHERE link.organization_id = ${ctx.organizationId} AND link.sequence > ${head.sequence}
    ORDER BY link.sequence LIMIT ${pageSize}`;
}

function brokenLink(row: LinkRow, expected: bigint): BrokenLink | null {
  if (row.sequence !== expected) return { sequence: Number(expected), eventId: null, reason: 'missing' };
  if (!row.present) return { sequence: Number(expected), eventId: row.eventId, reason: 'missing' };
  return row.holds ? null : { sequence: Number(expected), eventId: row.eventId, reason: 'changed' };
}

function compare(row: LinkRow, known: string | undefined): BrokenLink | null {
  return row.hash === known ? null : { sequence: Number(row.sequence), eventId: row.eventId, reason: 'rewritten' };
}

async function findUnlinked(ctx: OrganizationCtx): Promise<BrokenLink | null> {
  const [event] = await ctx.tx.$queryRaw<{ id: string }[]>`
    SELECT event.id FROM audit_event AS event
    WHERE event.organization_id = ${ctx.organizationId}
      AND NOT EXISTS (SELECT 1 FROM audit_link AS link WHERE link.event_id = event.id)
    ORDER BY event.at, event.id LIMIT 1`;
  return event === undefined ? null : { sequence: null, eventId: event.id, reason: 'unlinked' };
}
