// Reads events with their position in the chain, newest or oldest first. Read-only.
import { parseId } from '@fairlead/contract/ids';
import { Prisma } from '@fairlead/db';
import type { OrganizationCtx } from '../kernel/index.ts';
import { type AuditEventView, type AuditFilter, actorKindSchema, auditFieldsSchema } from './schema.ts';

export interface AuditQuery extends AuditFilter {
  readonly order: 'newest' | 'oldest';
  /** The sequence of the last event seen. */
  readonly after: bigint | null;
  readonly limit: number;
}

interface AuditRow {
  readonly id: string;
  readonly sequence: bigint;
  readonly at: Date;
  readonly actorKind: string;
  readonly actorId: string;
  readonly actorName: string | null;
  readonly ip: string | null;
  readonly action: string;
  readonly targetKind: string;
  readonly targetId: string;
  readonly targetLabel: string;
  readonly before: unknown;
  readonly after: unknown;
  readonly hash: string;
}

export async function loadAudit(ctx: OrganizationCtx, query: AuditQuery): Promise<AuditEventView[]> {
  const order = query.order === 'newest' ? Prisma.sql`DESC` : Prisma.sql`ASC`;
  const rows = await ctx.tx.$queryRaw<AuditRow[]>`
    SELECT event.id, link.sequence, event.at, event.actor_kind AS "actorKind", event.actor_id AS "actorId",
           coalesce(person.name, token.name, server.name) AS "actorName", event.ip, event.action,
           event.target_kind AS "targetKind", event.target_id AS "targetId", event.target_label AS "targetLabel",
           event.before, event.after, link.hash
    FROM audit_link AS link
    JOIN audit_event AS event ON event.id = link.event_id
    LEFT JOIN "user" AS person ON event.actor_kind = 'member' AND person.id = event.actor_id
    LEFT JOIN api_token AS token ON event.actor_kind = 'token' AND token.id = event.actor_id
    LEFT JOIN server ON event.actor_kind = 'agent' AND server.id = event.actor_id
    WHERE ${Prisma.join(conditionsOf(ctx, query), ' AND ')}
    ORDER BY link.sequence ${order} LIMIT ${query.limit}`;
  return rows.map(toView);
}

function conditionsOf(ctx: OrganizationCtx, query: AuditQuery): Prisma.Sql[] {
  const { after, actorKind, actorId, action, targetId, search, from, to } = query;
  const conditions = [Prisma.sql`link.organization_id = ${ctx.organizationId}`];
  if (after !== null) {
    conditions.push(
      query.order === 'newest' ? Prisma.sql`link.sequence < ${after}` : Prisma.sql`link.sequence > ${after}`,
    );
  }
  if (actorKind !== undefined) conditions.push(Prisma.sql`event.actor_kind = ${actorKind}`);
  if (actorId !== undefined)
    conditions.push(Prisma.sql`(event.actor_id = ${actorId} OR event.actor_user_id = ${actorId})`);
  if (action !== undefined)
    conditions.push(Prisma.sql`(event.action = ${action} OR starts_with(event.action, ${`${action}.`}))`);
  if (targetId !== undefined) conditions.push(Prisma.sql`event.target_id = ${targetId}`);
  if (search !== undefined && search !== '')
    conditions.push(Prisma.sql`strpos(lower(event.target_label), ${search.toLowerCase()}) > 0`);
  if (from !== undefined) conditions.push(Prisma.sql`event.at >= ${from}`);
  if (to !== undefined) conditions.push(Prisma.sql`event.at < ${to}`);
  return conditions;
}

function toView(row: AuditRow): AuditEventView {
  return {
    id: parseId('aud', row.id),
    sequence: Number(row.sequence),
    at: row.at,
    actor: { kind: actorKindSchema.parse(row.actorKind), id: row.actorId, name: row.actorName },
    ip: row.ip,
    action: row.action,
    target: { kind: row.targetKind, id: row.targetId, label: row.targetLabel },
    before: auditFieldsSchema.nullable().parse(row.before),
    after: auditFieldsSchema.nullable().parse(row.after),
    hash: row.hash,
  };
}
