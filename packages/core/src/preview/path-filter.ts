// Watch paths of previews, and whether a pull request's event needs the changed files that only GitHub knows.

import type { GithubAppKey } from '../github/index.ts';
import { requireAppKey } from '../github/index.ts';
import type { OrganizationCtx } from '../kernel/index.ts';
import type { SecretKeys } from '../secret/index.ts';
import { changesPreview, parsePullRequest } from './pull-request.ts';
import { findPolicy, findPreview, type Policy } from './store.ts';

/** Those of the environment that previews use, or else of the primary one. Empty: every pull request gets a preview. */
export async function findWatchPaths(
  { tx, organizationId }: OrganizationCtx,
  { appId, environmentId }: { readonly appId: string; readonly environmentId: string },
): Promise<readonly string[]> {
  const rows = await tx.placement.findMany({
    where: { appId, organizationId, OR: [{ environmentId }, { isPrimary: true }] },
    select: { environmentId: true, watchPaths: true },
  });
  const own = rows.find((row) => row.environmentId === environmentId)?.watchPaths ?? [];
  return own.length > 0 ? own : (rows.find((row) => row.environmentId !== environmentId)?.watchPaths ?? []);
}

/** A pull request at GitHub, with what reads it. */
export interface FilteredPullRequest {
  readonly key: GithubAppKey;
  readonly installationId: number;
  readonly repositoryId: number;
  readonly fullName: string;
  readonly number: number;
}

/**
 * Returns the pull request of an event if watch paths decide about a new preview of it; otherwise null. Throws a SyntaxError or a
 * ZodError for a body of another shape.
 */
export async function findFilteredPullRequest(
  ctx: OrganizationCtx,
  { endpointId, body }: { readonly endpointId: string; readonly body: string },
  keys: SecretKeys,
): Promise<FilteredPullRequest | null> {
  const { tx, organizationId } = ctx;
  const request = parsePullRequest(body);
  if (!changesPreview(request) || !request.isOpen) return null;
  const { number } = request;
  const repositoryId = BigInt(request.repositoryId);
  const links = await tx.appRepository.findMany({
    where: { organizationId, repositoryId, lostAt: null, installation: { githubAppId: endpointId, removedAt: null } },
    select: { appId: true, fullName: true, installation: { select: { installationId: true } } },
  });
  for (const { appId, fullName, installation } of links) {
    if ((await findPreview(ctx, { appId, repositoryId, number })) !== null) continue;
    const policy: Policy | null = await findPolicy(ctx, { appId });
    if (policy?.enabled !== true) continue;
    const watchPaths = await findWatchPaths(ctx, { appId, environmentId: policy.environmentId });
    if (watchPaths.length === 0) continue;
    const key = await requireAppKey(ctx, endpointId, keys);
    const { installationId } = installation;
    return { key, installationId: Number(installationId), repositoryId: request.repositoryId, fullName, number };
  }
  return null;
}
