// Fake GitHub with real repositories behind it, for browser tests. It sends webhooks as GitHub does.
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createFakeGithub, type FakeGithub, type FakeRepository, signWebhook, webhookExample } from '@fairlead/testkit';
import { freePort } from '../../tools/lib/free-ports.ts';
import { type Files, type Repository, serveRepositories } from '../system/harness/repository.ts';

const ZEROS = '0'.repeat(40);

export interface PublishedRepository {
  readonly at: FakeRepository;
  readonly git: Repository;
  /** Newest commit of main. */
  head: string;
}

export interface PullRequestChange {
  readonly number: number;
  readonly action: 'opened' | 'synchronize' | 'closed';
  readonly title: string;
  readonly files: Files;
}

export interface GitHost {
  readonly fake: FakeGithub;
  publish(name: string, files: Files): Promise<PublishedRepository>;
  /** Commits to main. The result sends the webhook of the push, and returns the status of the answer. */
  commit(repository: PublishedRepository, subject: string, files: Files): Promise<() => Promise<number>>;
  /** Commits, and sends the webhook of the push; returns the status of the answer. */
  push(repository: PublishedRepository, subject: string, files: Files): Promise<number>;
  /** Commits to a pull request, and sends the webhook of this action; returns the status of the answer. */
  changePullRequest(repository: PublishedRepository, change: PullRequestChange): Promise<number>;
  /** Text of the newest version of the comment on a pull request, and the number of comments on it. */
  commentOn(number: number): { readonly text: string; readonly count: number };
  offersOnCheckRun(repository: PublishedRepository, identifier: string): boolean;
  /** Summary of the newest check run of a commit that has the button, as GitHub shows it. */
  summaryOfCheckRun(repository: PublishedRepository, identifier: string): string;
  /** Presses a button of the newest check run of a commit, as the person in front of the browser. */
  pressCheckRun(repository: PublishedRepository, identifier: string): Promise<number>;
  close(): Promise<void>;
}

export async function startGitHost(): Promise<GitHost> {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-git-host-'));
  const port = await freePort();
  const repositories = await serveRepositories(folder, port);
  const fake = await createFakeGithub({ gitUrl: `http://127.0.0.1:${port}` });
  const account = fake.addAccount('acme');
  const person = fake.addAccount(fake.state.person, 'User');

  const send = async (event: string, payload: object): Promise<number> => {
    const app = fake.state.apps.at(-1);
    if (app === undefined || app.hookUrl === null) throw new Error('no app has a webhook');
    const { headers, body } = signWebhook(app, event, payload, randomUUID());
    return (await fetch(app.hookUrl, { method: 'POST', headers, body })).status;
  };

  /** Finds the newest check run of a commit that has the button. Changes of a check run name its id only. */
  const findCheckRun = (head: string, identifier: string) => {
    const runs = fake.state.received.filter(({ operation }) => operation === 'check-runs');
    return runs.findLast(
      ({ id, body }) =>
        body.head_sha === head && runs.some((each) => each.id === id && JSON.stringify(each.body).includes(identifier)),
    );
  };

  /** Returns what the last change of a check run wrote on it. */
  const outputOf = (runId: number | undefined): { readonly summary: string } | undefined =>
    fake.state.received.findLast(
      ({ operation, id, body }) => operation === 'check-runs' && id === runId && body.output !== undefined,
    )?.body.output as { readonly summary: string } | undefined;

  const commit: GitHost['commit'] = async (repository, subject, files) => {
    const { at, git, head: before } = repository;
    const after = await git.commit(subject, files);
    repository.head = after;
    at.branches = { main: after };
    const author = { name: 'Ada Example', email: 'ada@example.com', username: 'ada' };
    const changed = { added: [], removed: [], modified: Object.keys(files) };
    const head = { id: after, message: subject, author, committer: author, ...changed };
    const { repository: described } = webhookExample('push', null) as { repository: object };
    const payload = {
      ...webhookExample('push', null),
      ref: 'refs/heads/main',
      before,
      after,
      created: before === ZEROS,
      deleted: false,
      forced: false,
      commits: [head],
      head_commit: head,
      repository: {
        ...described,
        id: at.id,
        full_name: `${at.owner.login}/${at.name}`,
        default_branch: at.defaultBranch,
        clone_url: `${fake.url}/${at.owner.login}/${at.name}.git`,
        pushed_at: Math.floor(Date.now() / 1000),
      },
      pusher: { name: 'ada', email: 'ada@example.com' },
      sender: { login: 'ada', id: 1, type: 'User' },
    };
    return () => send('push', payload);
  };

  return {
    fake,
    changePullRequest: async ({ at, git }, { number, action, title, files }) => {
      const sha = await git.commit(title, files, `refs/pull/${number}/head`);
      at.changedFiles = { ...at.changedFiles, [number]: Object.keys(files) };
      const example = webhookExample('pull_request', action);
      return send('pull_request', {
        ...example,
        number,
        repository: { ...(example.repository as object), id: at.id, full_name: `${at.owner.login}/${at.name}` },
        pull_request: {
          ...(example.pull_request as object),
          ...{ number, title, draft: false, merged: action === 'closed', updated_at: new Date().toISOString() },
          head: { ref: 'greeting', sha, repo: { id: at.id } },
        },
      });
    },
    commentOn: (number) => {
      const comments = fake.state.received.filter(
        ({ operation, body }) => operation === 'comments' && body.on === number,
      );
      return { text: String(comments.at(-1)?.body.body), count: new Set(comments.map(({ id }) => id)).size };
    },
    offersOnCheckRun: ({ head }, identifier) => findCheckRun(head, identifier) !== undefined,
    summaryOfCheckRun: ({ head }, identifier) => outputOf(findCheckRun(head, identifier)?.id)?.summary ?? '',
    pressCheckRun: async ({ at, head }, identifier) => {
      const run = findCheckRun(head, identifier);
      if (run === undefined) throw new Error(`no check run of ${head} offers ${identifier}`);
      const example = webhookExample('check_run', 'requested_action');
      return send('check_run', {
        ...example,
        check_run: {
          ...(example.check_run as object),
          ...{ head_sha: head, external_id: run.body.external_id, output: outputOf(run.id) },
        },
        requested_action: { identifier },
        repository: { ...(example.repository as object), id: at.id, full_name: `${at.owner.login}/${at.name}` },
        sender: { ...(example.sender as object), id: person.id, login: person.login },
      });
    },
    publish: async (name, files) => {
      const git = await repositories.create(name, files);
      const head = await git.commit('Say hello', {});
      const at = fake.addRepository(account, name, { files: Object.keys(files), branches: { main: head } });
      return { at, git, head };
    },
    commit,
    push: async (...change) => (await commit(...change))(),
    close: async () => {
      await fake.close();
      await repositories.close();
      rmSync(folder, { recursive: true });
    },
  };
}
