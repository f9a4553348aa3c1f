// Tokens with which builds clone: of one installation, for one repository, that read its content for an hour. They are stored
// sealed like passwords of sources, and go to the host of the repository only.
import type { ErrorCode } from '@fairlead/contract/errors';
import { findNewestConfig } from '../config/index.ts';
import { writeCredential } from '../credential/index.ts';
import type { OrganizationCtx } from '../kernel/index.ts';
import type { SecretKeys } from '../secret/index.ts';
import { repositoryHost } from '../source/index.ts';
import { type GithubAppKey, requireAppKey } from './app-key.ts';
import { stateOf } from './list-github-apps.ts';
import { cloneUrl } from './rules.ts';

/** A token with less time left is replaced before a build. */
const leftMsMin = 30 * 60_000;

export type CloneNeed =
  | { readonly kind: 'none' }
  | { readonly kind: 'refused'; readonly code: ErrorCode }
  | ({ readonly kind: 'token'; readonly appId: string; readonly key: GithubAppKey } & {
      /** At GitHub. */
      readonly installationId: number;
      readonly repositoryId: number;
    });

/** Decides about a queued deployment. */
export async function findCloneNeed(
  ctx: OrganizationCtx,
  { deploymentId }: { readonly deploymentId: string },
  keys: SecretKeys,
): Promise<CloneNeed> {
  const { tx, organizationId } = ctx;
  const deployment = await tx.deployment.findFirst({
    where: { id: deploymentId, organizationId, state: 'queued', releaseId: null, uploadDigest: null },
    select: { appId: true, environmentId: true },
  });
  if (deployment === null) return { kind: 'none' };
  const { appId } = deployment;
  const link = await tx.appRepository.findFirst({
    where: { appId, organizationId },
    include: { installation: true },
  });
  if (link === null) return { kind: 'none' };
  const { settings } = await findNewestConfig(ctx, deployment);
  if (settings.builder === 'image') return { kind: 'none' };
  if (stateOf(link.installation) !== 'active') return { kind: 'refused', code: 'github.installation_gone' };
  if (link.lostAt !== null) return { kind: 'refused', code: 'github.repository_lost' };
  const fresh = { gt: new Date(ctx.clock.now().getTime() + leftMsMin) };
  const stored = { appId, organizationId, kind: 'github', expiresAt: fresh };
  if ((await tx.sourceCredential.count({ where: stored })) > 0) return { kind: 'none' };
  return {
    kind: 'token',
    appId,
    key: await requireAppKey(ctx, link.installation.githubAppId, keys),
    installationId: Number(link.installation.installationId),
    repositoryId: Number(link.repositoryId),
  };
}

export interface CloneToken {
  readonly token: string;
  readonly expiresAt: Date;
}

/** Stores a token for the host of the app's repository. */
export async function recordCloneToken(
  ctx: OrganizationCtx,
  need: Extract<CloneNeed, { kind: 'token' }>,
  { token, expiresAt }: CloneToken,
  keys: SecretKeys,
): Promise<void> {
  const { appId, key } = need;
  const host = repositoryHost(cloneUrl(key.baseUrl, 'any/any')) ?? '';
  const login = { host, username: 'x-access-token', secret: token, expiresAt };
  await writeCredential(ctx, appId, { ...login, kind: 'github' }, keys);
}
