// Hides entries of the overview for one member until they change, and shows them again.
// Invariant: a member changes only their own acknowledgements, and only of what they may see.
import { Prisma } from '@fairlead/db';
import { AppError, actorUserId, type Ctx } from '../kernel/index.ts';
import { type AttentionScope, itemsSql } from './items-sql.ts';
import { attentionWithin } from './list-attention.ts';
import type { AcknowledgeAttentionInput } from './schema.ts';

/** Acknowledges an entry, or all of a kind and cause, in their present version. */
export async function acknowledgeAttention(
  ctx: Ctx,
  input: AcknowledgeAttentionInput,
  scope: AttentionScope,
): Promise<{ count: number }> {
  const { tx, organizationId } = ctx;
  const memberId = await requireMemberId(ctx);
  const within = { ...scope, reach: await attentionWithin(ctx, scope.reach, input.projectId) };
  const count = await tx.$executeRaw`
    INSERT INTO acknowledgement (member_id, organization_id, kind, subject, version, created_at)
    SELECT ${memberId}, ${organizationId}, kind, subject, version, ${ctx.clock.now()}
    FROM (${itemsSql(ctx, within, [input.kind])}) AS item WHERE ${chosenSql(input)}
    ON CONFLICT (member_id, kind, subject) DO UPDATE SET version = excluded.version, created_at = excluded.created_at
    WHERE acknowledgement.version <> excluded.version`;
  return { count };
}

/** Shows acknowledged entries again. */
export async function restoreAttention(
  ctx: Ctx,
  input: AcknowledgeAttentionInput,
  scope: AttentionScope,
): Promise<{ count: number }> {
  const { tx, organizationId } = ctx;
  const memberId = await requireMemberId(ctx);
  const within = { ...scope, reach: await attentionWithin(ctx, scope.reach, input.projectId) };
  const count = await tx.$executeRaw`
    DELETE FROM acknowledgement AS hidden
    USING (${itemsSql(ctx, within, [input.kind])}) AS item
    WHERE hidden.organization_id = ${organizationId} AND hidden.member_id = ${memberId} AND hidden.kind = item.kind
      AND hidden.subject = item.subject AND ${chosenSql(input)}`;
  return { count };
}

/** Hides the first-run checklist for the member. */
export async function closeChecklist(ctx: Ctx): Promise<Record<string, never>> {
  const { tx, organizationId } = ctx;
  const memberId = await requireMemberId(ctx);
  const entry = { memberId, organizationId, kind: 'checklist', subject: '', version: '' };
  await tx.acknowledgement.createMany({ data: [{ ...entry, createdAt: ctx.clock.now() }], skipDuplicates: true });
  return {};
}

function chosenSql({ cause, subject }: AcknowledgeAttentionInput): Prisma.Sql {
  return Prisma.sql`${cause === undefined ? Prisma.sql`true` : Prisma.sql`item.cause = ${cause}`}
    AND ${subject === undefined ? Prisma.sql`true` : Prisma.sql`item.subject = ${subject}`}`;
}

/** Throws token.person_only for a service account, which reads no overview. */
async function requireMemberId({ tx, organizationId, actor }: Ctx): Promise<string> {
  const userId = actorUserId(actor);
  const member =
    userId === null ? null : await tx.member.findFirst({ where: { organizationId, userId }, select: { id: true } });
  if (member === null) throw new AppError('token.person_only');
  return member.id;
}
