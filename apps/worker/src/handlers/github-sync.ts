// Copies installations and repositories of all GitHub Apps, so that what changes at GitHub is followed without webhooks.
import { listGithubAppOwners, syncGithubApp } from '@fairlead/core/github';
import { AppError } from '@fairlead/core/kernel';
import { GithubError } from '@fairlead/github';
import type { Handler } from './handler.ts';

export const syncGithubAppsHandler: Handler<'github.sync'> = async (parts) => {
  const { database, clock, log, stopping } = parts;
  const owners = await database.system('github.sync', (tx) => listGithubAppOwners({ tx, clock, log }));
  for (const owner of owners) {
    if (stopping.aborted) return;
    try {
      await syncGithubAppHandler(parts, owner);
    } catch (error) {
      // One app's failure must not keep the others from being read.
      const isExpected = error instanceof GithubError || error instanceof AppError;
      log[isExpected ? 'warn' : 'error'](
        { err: error, githubAppId: owner.githubAppId },
        'a GitHub App could not be read',
      );
    }
  }
};

/** Throws while GitHub is away: the job is repeated. */
export const syncGithubAppHandler: Handler<'github.sync_app'> = async (parts, { organizationId, githubAppId }) => {
  const { database, clock, log, github, secretKeys: keys } = parts;
  try {
    await syncGithubApp(
      {
        github,
        keys,
        record: (work) => database.tenant(organizationId, (tx) => work({ tx, organizationId, clock, log })),
      },
      githubAppId,
    );
  } catch (error) {
    // The app was removed meanwhile.
    if (!(error instanceof AppError)) throw error;
    log.warn({ err: error, githubAppId }, 'a GitHub App could not be read');
  }
};
