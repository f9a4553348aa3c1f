// Opens the secrets of a GitHub App for one request to GitHub. They stay in memory, and no schema has them.
import { AppError, type OrganizationCtx } from '../kernel/index.ts';
import { type GithubSecret, githubSecretId, type SecretKeys } from '../secret/index.ts';

export interface GithubAppKey {
  readonly baseUrl: string;
  readonly githubId: number;
  readonly privateKey: string;
}

/** Throws github.app_not_found and secret.undecryptable. */
export async function requireAppKey(
  ctx: OrganizationCtx,
  githubAppId: string,
  keys: SecretKeys,
): Promise<GithubAppKey> {
  const { row, open } = await requireRow(ctx, githubAppId, keys);
  return { baseUrl: row.baseUrl, githubId: Number(row.githubId), privateKey: await open('privateKey') };
}

export interface GithubOauthClient {
  readonly clientId: string;
  readonly clientSecret: string;
}

export async function requireOauthClient(
  ctx: OrganizationCtx,
  githubAppId: string,
  keys: SecretKeys,
): Promise<GithubOauthClient> {
  const { row, open } = await requireRow(ctx, githubAppId, keys);
  return { clientId: row.clientId, clientSecret: await open('clientSecret') };
}

async function requireRow({ tx, organizationId }: OrganizationCtx, githubAppId: string, keys: SecretKeys) {
  const where = { id: githubAppId, organizationId };
  const row = await tx.githubApp.findFirst({ where, include: { dataKey: true } });
  if (row === null) throw new AppError('github.app_not_found', { githubAppId });
  const open = async (column: GithubSecret): Promise<string> => {
    const value = { versionId: githubSecretId(row.id, column), envelope: row[column], dataKey: row.dataKey };
    return (await keys.open(organizationId, value)).toString('utf8');
  };
  return { row, open };
}
