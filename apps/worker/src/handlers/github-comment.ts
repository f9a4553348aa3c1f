// Sends due comments about previews to GitHub. The id of a comment is stored as soon as GitHub gives it, and an attempt after a
// failure looks for what the one before created, so that a pull request has one comment of an app.
import {
  type ClaimedComment,
  claimComments,
  recordComment,
  recordCommentFailure,
  recordCommentId,
  recordEnded,
  retryAt,
} from '@fairlead/core/github';
import type { OrganizationCtx } from '@fairlead/core/kernel';
import { type CommentContent, loadComment } from '@fairlead/core/preview';
import { GithubError, type RepositoryPlace } from '@fairlead/github';
import type { HandlerParts } from './handler.ts';

const permissions = { pull_requests: 'write', deployments: 'write', metadata: 'read' } as const;
/** Attempts against refusals, which a person may mend meanwhile. */
const refusalsMax = 10;

type InTenant = <T>(work: (ctx: OrganizationCtx) => Promise<T>) => Promise<T>;

export async function sendGithubComments(parts: HandlerParts): Promise<void> {
  const { database, clock, turns } = parts;
  const claimed = await database.system('github.report', (tx) =>
    claimComments({ tx, clock }, turns.busy('github.report')),
  );
  await turns.runEach('github.report', claimed, {
    work: (each) => sendComment(parts, each),
    failed: 'a comment at GitHub failed',
  });
}

async function sendComment(parts: HandlerParts, comment: ClaimedComment): Promise<void> {
  const { database, clock, log, secretKeys, publicUrl, links } = parts;
  const { organizationId, previewId } = comment;
  const inTenant: InTenant = (work) =>
    database.tenant(organizationId, (tx) => work({ tx, organizationId, clock, log }));
  try {
    const content = await inTenant((ctx) => loadComment(ctx, { previewId, publicUrl }, secretKeys, links));
    if (content !== null) await send(parts, comment, content, inTenant);
    await inTenant((ctx) => recordComment(ctx, comment));
  } catch (error) {
    if (!(error instanceof GithubError)) throw error;
    const { code, message: problem } = error;
    const isRefusal = code !== 'unreachable' && code !== 'rate_limited';
    const at =
      isRefusal && comment.attempt >= refusalsMax ? null : (error.retryAt ?? retryAt(clock.now(), comment.attempt));
    log.warn({ err: error, previewId, at }, 'GitHub did not take a comment');
    await inTenant((ctx) => recordCommentFailure(ctx, comment, { problem, at }));
  }
}

async function send(
  { github }: HandlerParts,
  comment: ClaimedComment,
  content: CommentContent,
  inTenant: InTenant,
): Promise<void> {
  const { key, installationId, repositoryId, fullName, number, marker, body, isNeeded } = content;
  const { token } = await github.createToken(key, installationId, { permissions, repositoryIds: [repositoryId] });
  const place: RepositoryPlace = { baseUrl: key.baseUrl, token, fullName };
  for (const id of comment.endedIds) {
    const ended = { state: 'inactive', logUrl: null, environmentUrl: null, description: 'The preview ended' } as const;
    await github.createDeploymentStatus(place, id, ended).catch(ignoreGone);
    await inTenant((ctx) => recordEnded(ctx, comment, id));
  }
  const known = comment.commentId ?? (await github.findComment(place, number, { githubId: key.githubId, marker }));
  if (known !== null) {
    if (comment.commentId === null) await inTenant((ctx) => recordCommentId(ctx, comment, known));
    const isThere = await github.updateComment(place, known, body).then(() => true, ignoreGone);
    if (isThere) return;
    await inTenant((ctx) => recordCommentId(ctx, comment, null));
  }
  if (!isNeeded) return;
  const commentId = await github.createComment(place, number, body);
  await inTenant((ctx) => recordCommentId(ctx, comment, commentId));
}

/** A person may delete it at GitHub. */
function ignoreGone(error: unknown): false {
  if (error instanceof GithubError && error.code === 'not_found') return false;
  throw error;
}
