// Gives identity the OAuth clients of connected GitHub Apps. Secrets are opened for one request, and tokens are revoked at once.
import type { GithubIdentity } from '@fairlead/auth';
import { parseId } from '@fairlead/contract/ids';
import { findGithubClient, listGithubClients, requireOauthClient } from '@fairlead/core/github';
import { AppError, type Clock, forOrganization, type Log } from '@fairlead/core/kernel';
import type { SecretKeys } from '@fairlead/core/secret';
import type { Database } from '@fairlead/db';
import type { Github } from '@fairlead/github';
import { throughGithub } from './github.ts';

export interface GithubIdentityParts {
  readonly database: Database;
  readonly github: Github;
  readonly secretKeys: SecretKeys;
  /** Id of the GitHub App that signs people in; null: none. */
  readonly signInAppId: string | null;
  readonly clock: Clock;
  readonly log: Log;
}

export function createGithubIdentity(parts: GithubIdentityParts): GithubIdentity {
  const { database, github, secretKeys, signInAppId, clock, log } = parts;
  return {
    findSignInClient: async () => {
      if (signInAppId === null) return null;
      return database.system('find the GitHub App that signs people in', (tx) =>
        findGithubClient({ tx }, { githubAppId: signInAppId }),
      );
    },
    listClients: (userId) =>
      database.system("list the GitHub Apps of a person's organizations", (tx) =>
        listGithubClients({ tx }, { userId }),
      ),
    readPerson: async ({ githubAppId, code, verifier, redirectUrl }) => {
      const { baseUrl, client } = await database.system('open the OAuth client of a GitHub App', async (tx) => {
        const app = await findGithubClient({ tx }, { githubAppId });
        if (app === null) throw new AppError('github.app_not_found', { githubAppId });
        const ctx = forOrganization({ tx, clock, log }, parseId('org', app.organizationId));
        return { baseUrl: app.baseUrl, client: await requireOauthClient(ctx, githubAppId, secretKeys) };
      });
      const userToken = await throughGithub(
        () => github.exchangeCode(baseUrl, { ...client, code, proof: { verifier, redirectUrl } }),
        { unauthorized: 'github.code_refused' },
      );
      try {
        return await throughGithub(() => github.getUser(baseUrl, userToken));
      } finally {
        await github.revokeUserToken(baseUrl, { ...client, userToken }).catch((error: unknown) => {
          log.warn({ err: error }, 'a GitHub user token was not revoked');
        });
      }
    },
  };
}
