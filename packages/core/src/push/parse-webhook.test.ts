// Bodies of other git hosts and of scripts, as their documentation shows them.
import { expect, test } from 'vitest';
import { parsePush } from './parse-push.ts';

const [before, after] = ['a'.repeat(40), 'b'.repeat(40)];
const zeros = '0'.repeat(40);
const parse = (payload: object | string) =>
  parsePush('app', typeof payload === 'string' ? payload : JSON.stringify(payload));

const gitlab = {
  object_kind: 'push',
  event_name: 'push',
  before,
  after,
  ref: 'refs/heads/main',
  checkout_sha: after,
  user_username: 'ada',
  project: { id: 15, path_with_namespace: 'acme/shop', default_branch: 'main', git_http_url: 'https://git.test/a.git' },
  commits: [
    { id: after, message: 'Sell shoes\n', author: { name: 'Ada' }, added: ['a.ts'], modified: ['b.ts'], removed: [] },
  ],
  total_commits_count: 1,
};

test('a push of GitLab', () => {
  expect(parse(gitlab)).toMatchObject({
    ref: 'refs/heads/main',
    before,
    after,
    commitHash: after,
    commitMessage: 'Sell shoes\n',
    commitAuthor: 'Ada',
    changedFiles: ['a.ts', 'b.ts'],
    sender: 'ada',
    pushedAt: null,
    repository: { id: '15', name: 'acme/shop', defaultBranch: 'main' },
  });
  // GitLab lists at most 20 commits.
  expect(parse({ ...gitlab, total_commits_count: 40 }).changedFiles).toBeNull();
  expect(parse({ ...gitlab, before: zeros }).changedFiles).toBeNull();
});

test('a tag of GitLab deploys the commit it names, and a deleted branch has none', () => {
  const tag = { ...gitlab, object_kind: 'tag_push', ref: 'refs/tags/v1', before: zeros, checkout_sha: before };
  expect(parse(tag)).toMatchObject({ after, commitHash: before });
  expect(parse({ ...gitlab, after: zeros, checkout_sha: null, commits: [] })).toMatchObject({
    deleted: true,
    after: null,
    commitHash: null,
  });
});

const gitea = {
  ref: 'refs/heads/main',
  before,
  after,
  commits: [{ id: after, message: 'Sell', author: { name: 'Ada' }, added: null, removed: null, modified: ['a.ts'] }],
  total_commits: 1,
  head_commit: null,
  repository: { id: 1, full_name: 'acme/shop', default_branch: 'main', clone_url: 'https://git.test/acme/shop.git' },
  pusher: { login: 'ada' },
  sender: { login: 'ada' },
};

test('a push of Gitea and Forgejo', () => {
  expect(parse(gitea)).toMatchObject({
    commitHash: after,
    commitMessage: 'Sell',
    changedFiles: ['a.ts'],
    sender: 'ada',
  });
  expect(parse({ ...gitea, total_commits: 9 }).changedFiles).toBeNull();
});

test('an annotated tag of GitHub names its commit', () => {
  const head = { ...gitea.commits[0], id: before };
  const tag = { ...gitea, ref: 'refs/tags/v1', before: zeros, created: true, commits: [], head_commit: head };
  expect(parsePush('github', JSON.stringify(tag))).toMatchObject({ after, commitHash: before, changedFiles: null });
});

test('a script names nothing, a branch, a tag or a commit', () => {
  expect(parse('')).toMatchObject({ ref: 'HEAD', commitHash: null, changedFiles: null });
  expect(parse({})).toMatchObject({ ref: 'HEAD' });
  expect(parse({ ref: 'main', commit: after })).toMatchObject({ ref: 'refs/heads/main', commitHash: after });
  expect(parse({ ref: 'refs/tags/v1' })).toMatchObject({ ref: 'refs/tags/v1' });
});

test.each<[string, object | string]>([
  ['no object', '[]'],
  ['no JSON', 'ref=main'],
  ['an unknown field', { branch: 'main' }],
  ['a short hash', { commit: 'abc123' }],
  ['a ref that git refuses', { ref: 'refs/heads/a b' }],
  ['a ref that reads as an option', { ref: '--upload-pack=x' }],
  ['an event of GitLab that is no push', { ...gitlab, object_kind: 'merge_request' }],
  ['a push without a repository name', { ...gitea, repository: { id: 1 } }],
])('%s is refused', (_, payload) => {
  expect(() => parse(payload)).toThrow();
});
