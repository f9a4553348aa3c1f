// Copies GitHub's view of an app: which installations are suspended, removed or renamed, and their repositories.
import { type GithubAppId, type OrganizationId, parseId } from '@fairlead/contract/ids';
import type { OrganizationCtx, SystemCtx } from '../kernel/index.ts';
import type { SecretKeys } from '../secret/index.ts';
import { type GithubAppKey, requireAppKey } from './app-key.ts';
import { type InstallationFacts, listActiveInstallations, syncInstallations } from './installation.ts';
import { type RepositoryFacts, recordRepositories } from './repository.ts';

/** Calls of GitHub that a copy needs. */
export interface GithubReader {
  listInstallations(key: GithubAppKey): Promise<readonly InstallationFacts[]>;
  createToken(
    key: GithubAppKey,
    installationId: number,
    grant: { readonly permissions: { readonly metadata: 'read' } },
  ): Promise<{ readonly token: string }>;
  listRepositories(baseUrl: string, token: string): Promise<readonly RepositoryFacts[]>;
}

export interface SyncParts {
  readonly github: GithubReader;
  readonly keys: SecretKeys;
  /** Runs each part of the work in a transaction of its own: none is held while GitHub answers. */
  readonly record: <T>(work: (ctx: OrganizationCtx) => Promise<T>) => Promise<T>;
}

export async function syncGithubApp({ github, keys, record }: SyncParts, githubAppId: string): Promise<void> {
  const key = await record((ctx) => requireAppKey(ctx, githubAppId, keys));
  const list = await github.listInstallations(key);
  const active = await record(async (ctx) => {
    await syncInstallations(ctx, githubAppId, list);
    return listActiveInstallations(ctx, githubAppId);
  });
  for (const { id, installationId } of active) {
    const { token } = await github.createToken(key, Number(installationId), { permissions: { metadata: 'read' } });
    const repositories = await github.listRepositories(key.baseUrl, token);
    await record((ctx) => recordRepositories(ctx, id, repositories));
  }
}

export interface GithubAppOwner {
  readonly githubAppId: GithubAppId;
  readonly organizationId: OrganizationId;
}

export async function listGithubAppOwners({ tx }: SystemCtx): Promise<readonly GithubAppOwner[]> {
  const rows = await tx.githubApp.findMany({ select: { id: true, organizationId: true }, orderBy: { id: 'asc' } });
  return rows.map(({ id, organizationId }) => ({
    githubAppId: parseId('gha', id),
    organizationId: parseId('org', organizationId),
  }));
}
