// Processes a pull request's event for every app that is linked to its repository. Safe to run twice.
import { newId, parseId } from '@fairlead/contract/ids';
import { touchComment } from '../github/index.ts';
import type { Ctx } from '../kernel/index.ts';
import { lockApps } from '../placement/index.ts';
import { isStale } from './decide-preview.ts';
import { findWatchPaths } from './path-filter.ts';
import { changesPreview, type PullRequest, parsePullRequest } from './pull-request.ts';
import type { PreviewOutcome } from './schema.ts';
import { findPolicy, findPreview } from './store.ts';
import { syncPreview } from './sync-preview.ts';

/** Maximum number of pull requests of forks without a preview; further ones get no row and no comment. */
const waitingMax = 50;

export interface PullRequestDelivery {
  readonly deliveryId: string;
  /** Registration of the GitHub App that received it. */
  readonly endpointId: string;
  readonly body: string;
  /** True if the pull request changes a file that one of the globs names, or if its files are unknown. */
  readonly changesAny: (globs: readonly string[]) => boolean;
}

export interface ProcessedPullRequest {
  readonly request: PullRequest;
  /** Number of apps that it concerns. */
  readonly apps: number;
}

/** Decides for each app. Throws a SyntaxError or a ZodError for a body of another shape. */
export async function processPullRequest(ctx: Ctx, delivery: PullRequestDelivery): Promise<ProcessedPullRequest> {
  const { tx, organizationId } = ctx;
  const request = parsePullRequest(delivery.body);
  const links = await tx.appRepository.findMany({
    where: {
      organizationId,
      repositoryId: BigInt(request.repositoryId),
      installation: { githubAppId: delivery.endpointId },
    },
    select: { appId: true },
    orderBy: { appId: 'asc' },
  });
  const appIds = changesPreview(request) ? links.map(({ appId }) => appId) : [];
  await lockApps(ctx, appIds);
  for (const appId of appIds) {
    const { outcome, detail, deploymentId } = await recordPullRequest(ctx, parseId('app', appId), request, delivery);
    const decided = { number: request.number, outcome, detail, deploymentId, decidedAt: ctx.clock.now() };
    const { deliveryId } = delivery;
    await tx.previewDecision.upsert({
      where: { deliveryId_appId: { deliveryId, appId }, organizationId },
      create: { ...decided, id: newId('pvd'), organizationId, deliveryId, appId },
      update: decided,
    });
  }
  return { request, apps: appIds.length };
}

interface Decision {
  readonly outcome: PreviewOutcome;
  readonly detail: string;
  readonly deploymentId: string | null;
}

const nothing = { detail: '', deploymentId: null };

async function recordPullRequest(
  ctx: Ctx,
  appId: string,
  request: PullRequest,
  { changesAny }: Pick<PullRequestDelivery, 'changesAny'>,
): Promise<Decision> {
  const { tx, organizationId } = ctx;
  const { number, title, author, headRef, headHash, isFork, isDraft, isOpen, changedAt } = request;
  const key = { appId, repositoryId: BigInt(request.repositoryId), number };
  const known = await findPreview(ctx, key);
  if (known !== null && isStale(request, known)) return { outcome: 'stale', ...nothing };
  if (known === null) {
    const policy = await findPolicy(ctx, { appId });
    if (policy === null || !policy.enabled) return { outcome: 'off', ...nothing };
    // A pull request that was never known needs nothing when it closes.
    if (!isOpen) return { outcome: 'closed', ...nothing };
    const watchPaths = await findWatchPaths(ctx, { appId, environmentId: policy.environmentId });
    if (watchPaths.length > 0 && !changesAny(watchPaths))
      return { outcome: 'no_watched_path', detail: watchPaths.join(', '), deploymentId: null };
    const others = { appId, organizationId, isFork: true, isOpen: true, environmentId: null };
    if (isFork && (await tx.preview.count({ where: others })) >= waitingMax) return { outcome: 'too_many', ...nothing };
  }
  const now = ctx.clock.now();
  const facts = { title, author, headRef, headHash, isFork, isDraft, isOpen, changedAt };
  const isPushed = known !== null && known.headHash !== headHash;
  if (known === null) {
    const data = { ...key, ...facts, organizationId, state: 'waiting', pushedAt: now, createdAt: now };
    await tx.preview.create({ data: { ...data, id: newId('prv') } });
  } else {
    // Reopening counts as a push: the age starts again.
    const isRevived = isPushed || (isOpen && !known.isOpen);
    await tx.preview.updateMany({
      where: { id: known.id, organizationId },
      data: {
        ...facts,
        ...(isPushed ? { formerHash: known.headHash } : {}),
        ...(isRevived ? { pushedAt: now, removedHash: null } : {}),
      },
    });
  }
  const row = await findPreview(ctx, key);
  if (row === null) throw new TypeError('a preview that was just written is gone');
  const { state, problem, deploymentId } = await syncPreview(ctx, row);
  // A new pull request, or another commit that waits, changes the comment and not the state.
  if (known === null || isPushed) await touchComment(ctx, row.id);
  return { outcome: state, detail: problem, deploymentId };
}
