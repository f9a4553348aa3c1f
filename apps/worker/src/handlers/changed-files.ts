// Asks GitHub for the files that a pull request changes, because its event does not name them.
import type { FilteredPullRequest } from '@fairlead/core/preview';
import { GithubError } from '@fairlead/github';
import type { HandlerParts } from './handler.ts';

const permissions = { pull_requests: 'read', metadata: 'read' } as const;

/** Null: unknown, so that an outage of GitHub costs no preview. */
export async function listChangedFiles(
  { github, log }: Pick<HandlerParts, 'github' | 'log'>,
  request: FilteredPullRequest,
): Promise<readonly string[] | null> {
  const { key, installationId, repositoryId, fullName, number } = request;
  try {
    const { token } = await github.createToken(key, installationId, { permissions, repositoryIds: [repositoryId] });
    return await github.listPullRequestFiles({ baseUrl: key.baseUrl, token, fullName }, number);
  } catch (error) {
    if (!(error instanceof GithubError)) throw error;
    log.warn({ err: error, fullName, number }, 'the files of a pull request could not be read');
    return null;
  }
}
