// Lists what needs attention, and finds the rows of one group for the filter of a list.
import { Prisma } from '@fairlead/db';
import { actorUserId, type Ctx } from '../kernel/index.ts';
import { reachWithin } from '../role/index.ts';
import { groupsOf, type ItemRow } from './describe-items.ts';
import { type AttentionReach, type AttentionScope, itemsSql } from './items-sql.ts';
import { attentionKinds } from './rules.ts';
import type { Attention, AttentionFilter, AttentionKind } from './schema.ts';

/** Entries of a cause that the overview shows; its count covers all. */
const itemsShown = 5;

/** Lists all kinds, counted in one query. What the reader acknowledged is listed apart until it changes. */
export async function listAttention(ctx: Ctx, scope: AttentionScope): Promise<Attention> {
  const rows = await ctx.tx.$queryRaw<(ItemRow & { readonly acknowledged: boolean })[]>`
    SELECT * FROM (
      SELECT entry.*, count(*) OVER same::int AS count,
             row_number() OVER (PARTITION BY kind, cause, acknowledged ORDER BY rank, subject) AS position
      FROM (${seenSql(ctx, scope, attentionKinds)}) AS entry
      WINDOW same AS (PARTITION BY kind, cause, acknowledged)
    ) AS counted WHERE position <= ${itemsShown} ORDER BY kind, count DESC, cause, position`;
  const now = ctx.clock.now();
  return {
    groups: groupsOf(
      rows.filter(({ acknowledged }) => !acknowledged),
      now,
    ),
    acknowledged: groupsOf(
      rows.filter(({ acknowledged }) => acknowledged),
      now,
    ),
  };
}

/** Returns the ids of what a group counts: of deployments, apps, servers, certificates or secrets. */
export async function listAttentionTargets(
  ctx: Ctx,
  { kind, cause, projectId }: AttentionFilter,
  scope: AttentionScope,
): Promise<string[]> {
  const within = { ...scope, reach: await attentionWithin(ctx, scope.reach, projectId) };
  const rows = await ctx.tx.$queryRaw<{ target: string }[]>`
    SELECT target FROM (${seenSql(ctx, within, [kind])}) AS entry
    WHERE NOT acknowledged AND ${cause === undefined ? Prisma.sql`true` : Prisma.sql`cause = ${cause}`}`;
  return rows.map(({ target }) => target);
}

/** Narrows each reach to one project. */
export async function attentionWithin(
  ctx: Ctx,
  reach: AttentionReach,
  projectId: string | undefined,
): Promise<AttentionReach> {
  return {
    apps: await reachWithin(ctx, reach.apps, projectId),
    deployments: await reachWithin(ctx, reach.deployments, projectId),
    approvals: await reachWithin(ctx, reach.approvals, projectId),
    secrets: await reachWithin(ctx, reach.secrets, projectId),
    domains: await reachWithin(ctx, reach.domains, projectId),
    servers: reach.servers,
  };
}

/** Adds `acknowledged`: the reader hid the entry in its present version. */
function seenSql(ctx: Ctx, scope: AttentionScope, kinds: readonly AttentionKind[]): Prisma.Sql {
  return Prisma.sql`
    SELECT item.*, hidden.subject IS NOT NULL AS acknowledged FROM (${itemsSql(ctx, scope, kinds)}) AS item
    LEFT JOIN acknowledgement AS hidden ON hidden.organization_id = ${ctx.organizationId}
      AND hidden.member_id = (
        SELECT id FROM member WHERE organization_id = ${ctx.organizationId} AND user_id = ${actorUserId(ctx.actor)})
      AND hidden.kind = item.kind AND hidden.subject = item.subject AND hidden.version = item.version`;
}
