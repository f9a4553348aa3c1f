// Conversion of GitHub's answers. Pure.
import { GithubError } from './errors.ts';
import type { DeliveryData, Installation, InstallationData, SentDelivery } from './types.ts';

export function toInstallation(data: InstallationData): Installation {
  const { account } = data;
  if (account === null) throw new GithubError('invalid', 'GitHub answered an installation without an account');
  return {
    installationId: data.id,
    githubId: data.app_id,
    accountId: Number(account.id),
    accountLogin: 'login' in account ? account.login : account.slug,
    accountType: data.target_type,
    repositorySelection: data.repository_selection,
    suspendedAt: data.suspended_at === null ? null : new Date(data.suspended_at),
  };
}

export function toDelivery({ id, guid, event, action, delivered_at: at }: DeliveryData): SentDelivery {
  return { deliveryId: Number(id), guid, event, action, deliveredAt: new Date(at) };
}

/** Returns the cursor of the next page from a Link header; null: there is none. */
export function cursorOf(link: string | undefined): string | null {
  const url = /<([^>]+)>;\s*rel="next"/.exec(link ?? '')?.[1];
  return url === undefined ? null : new URL(url).searchParams.get('cursor');
}

export function ownerAndName(fullName: string): { readonly owner: string; readonly repo: string } {
  const [owner = '', repo = ''] = fullName.split('/');
  return { owner, repo };
}

/** GitHub answers 200 also to a refused code. */
export function readUserToken(status: number, body: string): string {
  if (status !== 200) throw new GithubError('unreachable', `GitHub answered ${status}`);
  const answer: unknown = JSON.parse(body);
  if (typeof answer === 'object' && answer !== null && 'access_token' in answer) return String(answer.access_token);
  throw new GithubError('unauthorized', 'GitHub rejected the code');
}
