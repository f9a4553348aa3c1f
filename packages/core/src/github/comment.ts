// Outbox of comments on pull requests, as `report.ts` is of reports: one row for a preview, which is sent until GitHub has its
// state. A crash loses and doubles none.
import { type OrganizationId, parseId } from '@fairlead/contract/ids';
import type { OrganizationCtx, SystemCtx } from '../kernel/index.ts';

/** A worker that dies returns its comments after this time. */
const leaseMs = 2 * 60_000;
const batch = 10;

/** Marks the comment about a preview as due. `endedIds`: deployments at GitHub whose preview is gone. */
export async function touchComment(
  { tx, organizationId, clock }: OrganizationCtx,
  previewId: string,
  endedIds: readonly bigint[] = [],
): Promise<void> {
  const due = { nextAttemptAt: clock.now(), problem: '' };
  await tx.githubComment.upsert({
    where: { previewId, organizationId },
    create: { ...due, previewId, organizationId, endedIds: [...endedIds] },
    update: { ...due, version: { increment: 1 }, endedIds: { push: [...endedIds] } },
  });
}

/** The same for the preview that a deployment is in, if it is in one. */
export async function touchCommentOf(
  ctx: OrganizationCtx,
  { environmentId }: { readonly environmentId: string },
): Promise<void> {
  const { tx, organizationId } = ctx;
  const preview = await tx.preview.findFirst({ where: { environmentId, organizationId }, select: { id: true } });
  if (preview !== null) await touchComment(ctx, preview.id);
}

export interface ClaimedComment {
  readonly organizationId: OrganizationId;
  readonly previewId: string;
  readonly version: number;
  /** 1: GitHub has nothing of an earlier attempt. */
  readonly attempt: number;
  readonly commentId: number | null;
  readonly endedIds: readonly number[];
}

/** Takes due comments for a while; another worker takes others. `busy`: organizations to leave out. */
export async function claimComments(
  { tx, clock }: Pick<SystemCtx, 'tx' | 'clock'>,
  busy: readonly string[],
): Promise<readonly ClaimedComment[]> {
  const now = clock.now();
  const rows = await tx.$queryRaw<{ id: string }[]>`
    SELECT preview_id AS id FROM github_comment WHERE next_attempt_at <= ${now} AND organization_id <> ALL (${[...busy]}::text[])
    ORDER BY next_attempt_at, preview_id LIMIT ${batch} FOR UPDATE SKIP LOCKED`;
  const where = { previewId: { in: rows.map(({ id }) => id) } };
  const nextAttemptAt = new Date(now.getTime() + leaseMs);
  await tx.githubComment.updateMany({ where, data: { nextAttemptAt, attempts: { increment: 1 } } });
  const claimed = await tx.githubComment.findMany({ where, orderBy: { previewId: 'asc' } });
  return claimed.map((row) => ({
    organizationId: parseId('org', row.organizationId),
    previewId: row.previewId,
    version: row.version,
    attempt: row.attempts,
    commentId: row.commentId === null ? null : Number(row.commentId),
    endedIds: row.endedIds.map(Number),
  }));
}

type CommentRef = Pick<ClaimedComment, 'previewId' | 'version'>;

/** Stores the id that GitHub gave, at once, so that no later attempt creates a second comment. Null: it was deleted there. */
export async function recordCommentId(
  { tx, organizationId }: OrganizationCtx,
  { previewId }: CommentRef,
  commentId: number | null,
): Promise<void> {
  await tx.githubComment.updateMany({ where: { previewId, organizationId }, data: { commentId } });
}

/** Forgets a deployment that GitHub now shows as inactive. */
export async function recordEnded(
  { tx, organizationId }: OrganizationCtx,
  { previewId }: CommentRef,
  endedId: number,
): Promise<void> {
  await tx.$executeRaw`
    UPDATE github_comment SET ended_ids = array_remove(ended_ids, ${BigInt(endedId)})
    WHERE preview_id = ${previewId} AND organization_id = ${organizationId}`;
}

/** Ends an attempt, unless the preview changed meanwhile. */
export async function recordComment(
  { tx, organizationId }: OrganizationCtx,
  { previewId, version }: CommentRef,
): Promise<void> {
  const where = { previewId, organizationId, version };
  await tx.githubComment.updateMany({ where, data: { attempts: 0, nextAttemptAt: null, problem: '' } });
}

/** `at`: time of the next attempt; null gives up. */
export async function recordCommentFailure(
  { tx, organizationId }: OrganizationCtx,
  { previewId, version }: CommentRef,
  { problem, at }: { readonly problem: string; readonly at: Date | null },
): Promise<void> {
  const where = { previewId, organizationId, version };
  await tx.githubComment.updateMany({ where, data: { problem, nextAttemptAt: at } });
}
