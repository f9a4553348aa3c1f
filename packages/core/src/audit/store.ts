// Reads events with their position in the chain, newest or oldest first. Read-only.
import { parseId } from '@fairlead/contract/ids';
import { Prisma } from '@fairlead/db';
import { countMax, type OrganizationCtx } from '../kernel/index.ts';
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
  const { matching, joined } = matchingSql(ctx, query);
  const rows = await ctx.tx.$queryRaw<AuditRow[]>`
    WITH ${matching} page AS (
      SELECT link.sequence, link.event_id, link.hash FROM ${joined}
      ORDER BY link.sequence ${order} LIMIT ${query.limit}
    )
    SELECT event.id, page.sequence, event.at, event.actor_kind AS "actorKind", event.actor_id AS "actorId",
           coalesce(person.name, token.name, server.name) AS "actorName", event.ip, event.action,
           event.target_kind AS "targetKind", event.target_id AS "targetId", event.target_label AS "targetLabel",
           event.before, event.after, page.hash
    FROM page
    JOIN audit_event AS event ON event.id = page.event_id
    LEFT JOIN "user" AS person ON event.actor_kind = 'member' AND person.id = event.actor_id
    LEFT JOIN api_token AS token ON event.actor_kind = 'token' AND token.id = event.actor_id
    LEFT JOIN server ON event.actor_kind = 'agent' AND server.id = event.actor_id
    ORDER BY page.sequence ${order}`;
  return rows.map(toView);
}

export async function countAudit(ctx: OrganizationCtx, filter: AuditFilter): Promise<number> {
  const { matching, joined } = matchingSql(ctx, { ...filter, order: 'newest', after: null });
  const [row] = await ctx.tx.$queryRaw<{ count: number }[]>`
    WITH ${matching} page AS (SELECT 1 FROM ${joined} LIMIT ${countMax})
    SELECT count(*)::int AS count FROM page`;
  return row?.count ?? 0;
}

interface MatchingSql {
  /** A common table expression with its comma, or nothing. */
  readonly matching: Prisma.Sql;
  /** `audit_link AS link` with what it is joined to, and conditions. */
  readonly joined: Prisma.Sql;
}

/**
 * Follows the chain and looks at each event, or finds the events first: the planner does not know that times grow with the
 * chain, and would follow it through years to reach a day or a rare text.
 */
function matchingSql(ctx: OrganizationCtx, query: Omit<AuditQuery, 'limit'>): MatchingSql {
  const { search, from, to, targetId } = query;
  const ofLinks = [Prisma.sql`link.organization_id = ${ctx.organizationId}`];
  if (query.after !== null) {
    const beyond = query.order === 'newest' ? Prisma.sql`<` : Prisma.sql`>`;
    ofLinks.push(Prisma.sql`link.sequence ${beyond} ${query.after}`);
  }
  const ofEvents = eventConditions(ctx, query);
  const findsFirst = [search, from, to, targetId].some((value) => value !== undefined && value !== '');
  if (findsFirst) {
    return {
      matching: Prisma.sql`matching AS MATERIALIZED (
        SELECT event.id FROM audit_event AS event WHERE ${Prisma.join(ofEvents, ' AND ')}),`,
      joined: Prisma.sql`audit_link AS link JOIN matching ON matching.id = link.event_id
        WHERE ${Prisma.join(ofLinks, ' AND ')}`,
    };
  }
  return {
    matching: Prisma.empty,
    joined: Prisma.sql`audit_link AS link JOIN audit_event AS event ON event.id = link.event_id
      WHERE ${Prisma.join([...ofLinks, ...ofEvents], ' AND ')}`,
  };
}

function eventConditions(ctx: OrganizationCtx, filter: AuditFilter): Prisma.Sql[] {
  const { actorKind, actorId, action, targetId, search, from, to } = filter;
  const conditions = [Prisma.sql`event.organization_id = ${ctx.organizationId}`];
  if (actorKind !== undefined) conditions.push(Prisma.sql`event.actor_kind = ${actorKind}`);
  if (actorId !== undefined)
    conditions.push(Prisma.sql`(event.actor_id = ${actorId} OR event.actor_user_id = ${actorId})`);
  if (action !== undefined)
    conditions.push(Prisma.sql`(event.action = ${action} OR starts_with(event.action, ${`${action}.`}))`);
  if (targetId !== undefined) conditions.push(Prisma.sql`event.target_id = ${targetId}`);
  if (search !== undefined && search !== '') conditions.push(matches(ctx, search.toLowerCase()));
  if (from !== undefined) conditions.push(Prisma.sql`event.at >= ${from}`);
  if (to !== undefined) conditions.push(Prisma.sql`event.at < ${to}`);
  return conditions;
}

/** The names of actors are looked up first, so that the events are read once. */
function matches({ organizationId }: OrganizationCtx, needle: string): Prisma.Sql {
  return Prisma.sql`(strpos(lower(event.target_label), ${needle}) > 0 OR lower(event.target_id) = ${needle}
    OR event.actor_id = ANY(ARRAY(
    SELECT person.id FROM member JOIN "user" AS person ON person.id = member.user_id
    WHERE member.organization_id = ${organizationId} AND strpos(lower(person.name), ${needle}) > 0
    UNION ALL SELECT id FROM api_token
    WHERE organization_id = ${organizationId} AND strpos(lower(name), ${needle}) > 0
    UNION ALL SELECT id FROM server
    WHERE organization_id = ${organizationId} AND strpos(lower(name), ${needle}) > 0)))`;
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
