// Calls of GitHub for procedures, with its failures as errors for users.

import type { ErrorCode } from '@fairlead/contract/errors';
import type { GithubAppKey, GithubOauthClient } from '@fairlead/core/github';
import { AppError } from '@fairlead/core/kernel';
import { GithubError, type GithubErrorCode, type GithubRepository } from '@fairlead/github';
import type { ApiContext } from './context.ts';

const codes: Readonly<Record<GithubErrorCode, ErrorCode>> = {
  refused_address: 'github.address_refused',
  unreachable: 'github.unreachable',
  unauthorized: 'github.unauthorized',
  forbidden: 'github.forbidden',
  not_found: 'github.installation_not_found',
  invalid: 'github.forbidden',
  rate_limited: 'github.rate_limited',
};

/** Runs calls of GitHub; throws an AppError for their failures. `meaning`: codes that mean something else here. */
export async function throughGithub<T>(
  run: () => Promise<T>,
  meaning: Partial<Record<GithubErrorCode, ErrorCode>> = {},
): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof GithubError)) throw error;
    throw new AppError(meaning[error.code] ?? codes[error.code], {}, { cause: error });
  }
}

interface Proof {
  readonly baseUrl: string;
  readonly client: GithubOauthClient;
  readonly code: string;
  readonly installationId: number;
}

/** Throws github.installation_foreign unless GitHub shows the installation to the person of the code. */
export async function requireShownTo({ github, log }: ApiContext, proof: Proof): Promise<void> {
  const { baseUrl, client, code, installationId } = proof;
  const userToken = await throughGithub(() => github.exchangeCode(baseUrl, { ...client, code }), {
    unauthorized: 'github.code_refused',
  });
  const shown = await throughGithub(() => github.listUserInstallations(baseUrl, userToken));
  // It expires by itself; nothing else needs it.
  await github.revokeUserToken(baseUrl, { ...client, userToken }).catch((error: unknown) => {
    log.warn({ err: error }, 'a GitHub user token was not revoked');
  });
  if (!shown.includes(installationId)) throw new AppError('github.installation_foreign');
}

/** Lists the repositories of an installation, with a token that reads names only. */
export async function listReach(
  { github }: ApiContext,
  key: GithubAppKey,
  installationId: number,
): Promise<readonly GithubRepository[]> {
  return throughGithub(async () => {
    const { token } = await github.createToken(key, installationId, { permissions: { metadata: 'read' } });
    return github.listRepositories(key.baseUrl, token);
  });
}
