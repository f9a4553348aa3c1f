// Pushes and pull requests for tests: bodies in GitHub's form, and a repository that an app is linked to.
import { type AppId, newId } from '@fairlead/contract/ids';
import type { TestWorld } from '../testing/index.ts';

export const repositoryId = 42;

export interface TestPush {
  readonly ref?: string;
  readonly before?: string;
  readonly after?: string;
  readonly pushedAt?: number;
  readonly message?: string;
  readonly modified?: readonly string[];
  readonly forced?: boolean;
  readonly repositoryId?: number;
  /** Id at GitHub of the person who pushed. */
  readonly senderId?: number;
}

/** Hash of a commit by its number; 0: none. */
export function testHash(number: number): string {
  return number.toString(16).padStart(40, '0');
}

export function githubPush(push: TestPush = {}): string {
  const { ref = 'refs/heads/main', before = testHash(1), after = testHash(2), message = 'Sell shoes' } = push;
  const deleted = after === testHash(0);
  const commit = {
    id: after,
    message,
    author: { name: 'Ada Lovelace', email: 'ada@example.test', username: 'ada' },
    added: [],
    removed: [],
    modified: push.modified ?? ['apps/web/page.tsx'],
  };
  return JSON.stringify({
    ref,
    before,
    after,
    created: before === testHash(0),
    deleted,
    forced: push.forced ?? false,
    commits: deleted ? [] : [commit],
    head_commit: deleted ? null : commit,
    repository: {
      id: push.repositoryId ?? repositoryId,
      full_name: 'acme/shop',
      default_branch: 'main',
      clone_url: 'https://git.example.test/shop.git',
      pushed_at: push.pushedAt ?? 1_764_000_000,
    },
    pusher: { name: 'ada', email: 'ada@example.test' },
    sender: { login: 'ada', id: push.senderId ?? 1 },
  });
}

export interface TestPullRequest {
  readonly action?: string;
  readonly number?: number;
  /** Number of the head commit. */
  readonly head?: number;
  readonly fork?: boolean;
  readonly draft?: boolean;
  readonly open?: boolean;
  readonly title?: string;
  /** Seconds after an instant. */
  readonly at?: number;
}

const instantMs = Date.UTC(2026, 0, 1);

export function githubPullRequest(request: TestPullRequest = {}): string {
  const { action = 'opened', number = 7, head = 1, fork = false, draft = false, open = true, at = 0 } = request;
  return JSON.stringify({
    action,
    number,
    pull_request: {
      number,
      title: request.title ?? 'Sell shoes',
      state: open ? 'open' : 'closed',
      draft,
      updated_at: new Date(instantMs + at * 1000).toISOString().replace('.000Z', 'Z'),
      user: { login: 'ada' },
      head: { ref: 'shoes', sha: testHash(head), repo: { id: fork ? 99 : repositoryId } },
    },
    repository: { id: repositoryId, full_name: 'acme/shop' },
    sender: { login: 'ada' },
  });
}

/** Registers a GitHub App whose installation reaches the repository. Returns the id of its webhook. */
export async function registerGithubApp(world: TestWorld, webhookSecret: string): Promise<string> {
  const id = newId('gha');
  const { organizationId } = world;
  await world.tenant(async (ctx) => {
    const active = await world.keys.active(ctx);
    const seal = (column: string, value: string) => active.seal(`${id}.${column}`, Buffer.from(value, 'utf8'));
    await ctx.tx.githubApp.create({
      data: {
        id,
        organizationId,
        baseUrl: `https://${id.toLowerCase().replace('_', '-')}.example.test`,
        githubId: 1,
        slug: 'fairlead',
        name: 'Fairlead',
        ownerLogin: 'acme',
        clientId: 'none',
        dataKeyId: active.dataKeyId,
        privateKey: seal('privateKey', 'none'),
        webhookSecret: webhookSecret === '' ? new Uint8Array() : seal('webhookSecret', webhookSecret),
        clientSecret: seal('clientSecret', 'none'),
      },
    });
    await ctx.tx.githubInstallation.create({
      data: {
        id: id.replace('gha', 'ghi'),
        organizationId,
        githubAppId: id,
        installationId: 1,
        accountId: 1,
        accountLogin: 'acme',
        accountType: 'Organization',
        repositorySelection: 'all',
      },
    });
  });
  return id;
}

export async function linkRepository(
  world: TestWorld,
  githubAppId: string,
  appId: AppId,
  linked = repositoryId,
): Promise<void> {
  await world.tenant(({ tx, organizationId }) =>
    tx.appRepository.create({
      data: {
        appId,
        organizationId,
        installationId: githubAppId.replace('gha', 'ghi'),
        repositoryId: linked,
        fullName: 'acme/shop',
        defaultBranch: 'main',
        isPrivate: true,
      },
    }),
  );
}
