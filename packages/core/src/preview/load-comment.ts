// Loads the text of the comment on a pull request, with the key that sends it.

import { type AppLinks, domainUrl } from '../domain/index.ts';
import { type GithubAppKey, requireAppKey } from '../github/index.ts';
import type { OrganizationCtx } from '../kernel/index.ts';
import { compareReleases } from '../release/index.ts';
import type { SecretKeys } from '../secret/index.ts';
import { commentMarker, commentText } from './comment-text.ts';
import { findPreview, type PreviewRow } from './store.ts';

export interface CommentContent {
  readonly key: GithubAppKey;
  /** At GitHub. */
  readonly installationId: number;
  readonly repositoryId: number;
  readonly fullName: string;
  /** Number of the pull request. */
  readonly number: number;
  readonly marker: string;
  readonly body: string;
  /** False: changes a comment that exists, and creates none. */
  readonly isNeeded: boolean;
}

/** Null: GitHub gives no access to the installation or the repository. */
export async function loadComment(
  ctx: OrganizationCtx,
  { previewId, publicUrl }: { readonly previewId: string; readonly publicUrl: string | null },
  keys: SecretKeys,
  links: AppLinks,
): Promise<CommentContent | null> {
  const { tx, organizationId } = ctx;
  const row = await findPreview(ctx, { id: previewId });
  if (row === null) return null;
  const { appId, repositoryId, number, state, problem, headHash } = row;
  const link = await tx.appRepository.findFirst({
    where: {
      appId,
      repositoryId,
      organizationId,
      lostAt: null,
      installation: { removedAt: null, suspendedAt: null },
    },
    include: { installation: true, app: { select: { name: true } } },
  });
  if (link === null) return null;
  const organization = await tx.organization.findFirstOrThrow({
    where: { id: organizationId },
    select: { slug: true },
  });
  const served = row.environmentId === null ? null : await loadServed(ctx, row, row.environmentId, links);
  const pageOf = (id: string) => (publicUrl === null ? null : `${publicUrl}/${organization.slug}/deployments/${id}`);
  return {
    key: await requireAppKey(ctx, link.installation.githubAppId, keys),
    installationId: Number(link.installation.installationId),
    repositoryId: Number(repositoryId),
    fullName: link.fullName,
    number,
    marker: commentMarker(appId),
    isNeeded: state !== 'closed' && state !== 'off',
    body: commentText({
      appId,
      appName: link.app.name,
      state,
      problem,
      headHash,
      previewUrl: served?.previewUrl ?? null,
      changes: served?.changes ?? null,
      deployment: served?.deployment == null ? null : { ...served.deployment, url: pageOf(served.deployment.id) },
    }),
  };
}

async function loadServed(
  { tx, organizationId, ...ctx }: OrganizationCtx,
  row: PreviewRow,
  environmentId: string,
  links: AppLinks,
) {
  const where = { environmentId, appId: row.appId, organizationId };
  const deployment = await tx.deployment.findFirst({
    where,
    select: { id: true, number: true, state: true, ref: true, commitHash: true, failureMessage: true },
    orderBy: { number: 'desc' },
  });
  const domain = await tx.domain.findFirst({ where, orderBy: [{ automatic: 'desc' }, { createdAt: 'asc' }] });
  const placement = await tx.placement.findFirst({
    where,
    select: { servers: { select: { server: { select: { isLocal: true } } }, orderBy: { position: 'asc' }, take: 1 } },
  });
  const [newest, former] = await tx.release.findMany({ where, orderBy: { number: 'desc' }, take: 2 });
  const isLive = deployment?.state === 'live';
  return {
    deployment: deployment === null ? null : { ...deployment, commitHash: deployment.commitHash ?? deployment.ref },
    previewUrl: domain === null ? null : domainUrl(domain, placement?.servers[0]?.server.isLocal === true, links),
    changes:
      isLive && newest !== undefined && former !== undefined
        ? await compareReleases({ ...ctx, tx, organizationId }, former, newest)
        : null,
  };
}
