// Finds the repository at GitHub from which an app is built in an environment, to read its files.
import { type GithubAppKey, requireAppKey } from '../github/index.ts';
import type { Ctx } from '../kernel/index.ts';
import { type PlacementInput, requirePlacement } from '../placement/index.ts';
import type { SecretKeys } from '../secret/index.ts';

export interface AppSource {
  readonly key: GithubAppKey;
  /** At GitHub. */
  readonly installationId: number;
  readonly repositoryId: number;
  readonly fullName: string;
  /** Branch that the environment follows. */
  readonly branch: string;
  readonly rootFolder: string;
}

/** Null: the app is a whole repository, or has none of a GitHub App that can be read. */
export async function findAppSource(ctx: Ctx, input: PlacementInput, keys: SecretKeys): Promise<AppSource | null> {
  const { tx, organizationId } = ctx;
  const { appId, branch } = await requirePlacement(ctx, input);
  const link = await tx.appRepository.findFirst({
    where: { appId, organizationId, lostAt: null, installation: { suspendedAt: null, removedAt: null } },
    include: { installation: true, app: { select: { rootFolder: true } } },
  });
  if (link === null || link.app.rootFolder === '') return null;
  return {
    key: await requireAppKey(ctx, link.installation.githubAppId, keys),
    installationId: Number(link.installation.installationId),
    repositoryId: Number(link.repositoryId),
    fullName: link.fullName,
    branch: branch === '' ? link.defaultBranch : branch,
    rootFolder: link.app.rootFolder,
  };
}
