// Applies an event about an installation or a repository, and enqueues a sync with GitHub, because events may be late or out of
// order.
import { parseId } from '@fairlead/contract/ids';
import { syncGithubAppJob } from '@fairlead/contract/jobs';
import { enqueue } from '@fairlead/db';
import type { OrganizationCtx } from '../kernel/index.ts';
import { type GithubEvent, type GithubEventName, parseGithubEvent } from './parse-event.ts';
import { followRepository, loseRepositories } from './repository.ts';

/** Returns why nothing was to be done; empty: the event was followed. */
export async function followGithubEvent(
  ctx: OrganizationCtx,
  githubAppId: string,
  { name, body }: { readonly name: GithubEventName; readonly body: string },
): Promise<string> {
  const event = parseGithubEvent(name, body);
  if (event.name === 'github_app_authorization') return 'Fairlead keeps no authorization of this person.';
  const isFollowed = await follow(ctx, githubAppId, event);
  if (!isFollowed) return 'Fairlead uses neither this installation nor this repository.';
  await enqueueSync(ctx, githubAppId);
  return '';
}

async function follow(
  ctx: OrganizationCtx,
  githubAppId: string,
  event: Exclude<GithubEvent, { name: 'github_app_authorization' }>,
): Promise<boolean> {
  if (event.name === 'repository') return followRepositoryEvent(ctx, githubAppId, event);
  const { tx, organizationId, clock } = ctx;
  // Ignores an installation that was never linked, because no member proved it.
  const row = await tx.githubInstallation.findFirst({
    where: { githubAppId, organizationId, installationId: event.installation.id },
    select: { id: true, suspendedAt: true, removedAt: true },
  });
  if (row === null) return false;
  const { id } = row;
  const now = clock.now();
  if (event.name === 'installation_repositories') {
    await loseRepositories(
      ctx,
      { installationId: id },
      event.repositories_removed.map((each) => each.id),
    );
    return true;
  }
  await tx.githubInstallation.update({ where: { id }, data: changeOf(event, row, now) });
  return true;
}

function changeOf(
  event: Extract<GithubEvent, { name: 'installation' | 'installation_target' }>,
  before: { readonly suspendedAt: Date | null; readonly removedAt: Date | null },
  now: Date,
) {
  if (event.name === 'installation_target') return { accountLogin: event.account.login };
  switch (event.action) {
    case 'deleted':
      return { removedAt: before.removedAt ?? now };
    case 'suspend':
      return { suspendedAt: event.installation.suspended_at ?? before.suspendedAt ?? now };
    case 'unsuspend':
      return { suspendedAt: null };
    default:
      return {};
  }
}

async function followRepositoryEvent(
  ctx: OrganizationCtx,
  githubAppId: string,
  { action, repository }: Extract<GithubEvent, { name: 'repository' }>,
): Promise<boolean> {
  const { tx, organizationId } = ctx;
  const known = await tx.githubRepository.findMany({
    where: { organizationId, repositoryId: repository.id, installation: { githubAppId } },
    select: { installationId: true },
  });
  for (const { installationId } of known) {
    // The installation may still reach a transferred one: the sync decides.
    if (action === 'deleted') await loseRepositories(ctx, { installationId }, [repository.id]);
    else if (action !== 'transferred')
      await followRepository(ctx, installationId, {
        repositoryId: repository.id,
        fullName: repository.full_name,
        defaultBranch: repository.default_branch,
        isPrivate: repository.private,
        isArchived: repository.archived,
      });
  }
  // The installation may reach it from now on.
  return known.length > 0 || action === 'created' || action === 'transferred';
}

async function enqueueSync({ tx, organizationId }: OrganizationCtx, githubAppId: string): Promise<void> {
  const payload = { organizationId, githubAppId: parseId('gha', githubAppId) };
  await enqueue(tx, syncGithubAppJob, payload, { key: `github.sync_app:${githubAppId}` });
}
