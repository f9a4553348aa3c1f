// Links a person's account at GitHub to their account here. The link identifies the person who acts on check runs, and signs
// them in if the operator chose its GitHub App for that.
// Invariant: only a fresh session with the account's second factor adds or removes a link, and no email address creates one.
import { AppError } from '@fairlead/contract/errors';
import { newId } from '@fairlead/contract/ids';
import type { Caller } from './account.ts';
import { requireFactorChange } from './factor-proof.ts';
import type { GithubIdentity } from './github-identity.ts';
import { startRedirect, takeState } from './github-state.ts';
import { type Internals, noteChange, ownOriginOf, pageUrl } from './internals.ts';
import { findRestorable, noteAddedFactor } from './restore-account.ts';

export interface GithubAccountView {
  readonly githubAppId: string;
  readonly appName: string;
  /** Host of GitHub. */
  readonly host: string;
  /** Login at GitHub; null: not linked. */
  readonly login: string | null;
  readonly linkedAt: Date | null;
  readonly lastUsedAt: Date | null;
  readonly signsIn: boolean;
}

const linkPage = '/account/github';

/** Lists the GitHub Apps of the person's organizations and the one for sign-in, with the person's links. */
export async function listGithubAccounts(internals: Internals, { session }: Caller): Promise<GithubAccountView[]> {
  const { client, options } = internals;
  if (options.github === null) return [];
  const userId = session.user.id;
  const [apps, signIn, links] = await Promise.all([
    options.github.listClients(userId),
    options.github.findSignInClient(),
    client().githubAccount.findMany({ where: { userId } }),
  ]);
  const all = signIn === null || apps.some((app) => app.githubAppId === signIn.githubAppId) ? apps : [...apps, signIn];
  return all.map(({ githubAppId, name, baseUrl }) => {
    const link = links.find((each) => each.githubAppId === githubAppId);
    return {
      githubAppId,
      appName: name,
      host: new URL(baseUrl).host,
      login: link?.login ?? null,
      linkedAt: link?.createdAt ?? null,
      lastUsedAt: link?.lastUsedAt ?? null,
      signsIn: signIn?.githubAppId === githubAppId,
    };
  });
}

/** Returns the address at GitHub. Throws session.not_fresh, session.second_factor_required and github.app_not_found. */
export async function startGithubLink(
  internals: Internals,
  { session, headers }: Caller,
  { githubAppId }: { readonly githubAppId: string },
): Promise<{ url: string }> {
  await requireFactorChange(internals, session);
  const github = requireGithub(internals);
  const apps = [...(await github.listClients(session.user.id)), await github.findSignInClient()];
  const app = apps.find((each) => each?.githubAppId === githubAppId) ?? null;
  if (app === null) throw new AppError('github.app_not_found', { githubAppId });
  const state = { purpose: 'link', githubAppId, sessionId: session.id } as const;
  return { url: await startRedirect(internals.client(), app, state, linkUrl(internals, headers)) };
}

/** Links the account of the person who came back. Throws github.state_invalid, github.code_refused and account.github_taken. */
export async function completeGithubLink(
  internals: Internals,
  { session, headers }: Caller,
  { state: token, code }: { readonly state: string; readonly code: string },
): Promise<{ login: string }> {
  await requireFactorChange(internals, session);
  const github = requireGithub(internals);
  const { client } = internals;
  const state = await takeState(client(), token);
  if (state?.purpose !== 'link' || state.sessionId !== session.id) throw new AppError('github.state_invalid');
  const { githubAppId, verifier } = state;
  const redirectUrl = linkUrl(internals, headers);
  const { githubUserId, login } = await github.readPerson({ githubAppId, code, verifier, redirectUrl });
  const userId = session.user.id;
  const restorable = await findRestorable(internals, userId);
  const data = { id: newId('gac'), userId, githubAppId, githubUserId, login };
  // Never moves a link: the account at GitHub, or this one, may already have another link.
  const { count } = await client().githubAccount.createMany({ data, skipDuplicates: true });
  if (count === 0) {
    const own = await client().githubAccount.count({ where: { userId, githubAppId, githubUserId } });
    if (own === 0) throw new AppError('account.github_taken');
    return { login };
  }
  await noteAddedFactor(internals, { userId, restorable, headers }, 'github_linked', `@${login}`);
  return { login };
}

/** Throws session.not_fresh, session.second_factor_required and account.github_not_linked. */
export async function removeGithubLink(
  internals: Internals,
  { session, headers }: Caller,
  { githubAppId }: { readonly githubAppId: string },
): Promise<void> {
  await requireFactorChange(internals, session);
  const userId = session.user.id;
  const where = { userId, githubAppId };
  const link = await internals.client().githubAccount.findFirst({ where, select: { login: true } });
  const { count } = await internals.client().githubAccount.deleteMany({ where });
  if (link === null || count === 0) throw new AppError('account.github_not_linked');
  await noteChange(internals, userId, 'github_unlinked', headers, `@${link.login}`);
}

/** Returns the page to which GitHub leads back: where the session is. Throws permission.denied for a page of another site. */
function linkUrl(internals: Internals, headers: Headers): string {
  if (!headers.has('origin')) return pageUrl(internals, linkPage);
  const own = ownOriginOf(internals, headers);
  if (own === null) throw new AppError('permission.denied');
  return `${own}${linkPage}`;
}

function requireGithub({ options }: Internals): GithubIdentity {
  if (options.github === null) throw new AppError('github.app_not_found');
  return options.github;
}
