// Tests of preview environments of pull requests, with the fake GitHub and a real agent.
import type { AppId, PreviewId } from '@fairlead/contract/ids';
import { newId } from '@fairlead/contract/ids';
import { type Ctx, systemClock } from '@fairlead/core/kernel';
import { approvePreview, listPreviews, type PreviewView, updatePreviewPolicy } from '@fairlead/core/preview';
import { recordDeliveries } from '@fairlead/core/push';
import { createFakeGithub, webhookExample } from '@fairlead/testkit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { waitFor } from '../../tools/lib/wait.ts';
import { CONTROL_HOST } from '../../tools/start/control-plane.ts';
import { respondingApp } from './harness/apps.ts';
import { type ConnectedGithub, connectGithub, githubSettings } from './harness/github.ts';
import type { Repository } from './harness/repository.ts';
import { System } from './harness/system.ts';

const timeoutMs = 120_000;
const links = { localHttpsPort: 443, localHttpPort: 80, controlHost: CONTROL_HOST, publicHost: '' };

let system: System;
let github: ConnectedGithub;
let repository: Repository;
let repositoryId: number;
let appId: AppId;

beforeAll(async () => {
  system = await System.start({ settings: githubSettings });
  repository = await system.repositories.create('shop', respondingApp('main'));
  const gitUrl = new URL('.', repository.url).href.replace(/\/$/, '');
  github = await connectGithub(system, await createFakeGithub({ gitUrl }));
  ({ repositoryId } = await github.publish('shop'));
  const serverId = await system.serverId();
  const source = { kind: 'github', installationId: github.installationId, repositoryId } as const;
  const created = await system.product.verbs.createApp(
    { name: 'shop', source, healthPath: '/', serverIds: [serverId], firstDeploy: 'none' },
    { controlHost: CONTROL_HOST, publicHost: '' },
  );
  appId = created.id;
  await system.product.verbs.updateBaseDomain({ serverId, baseDomain: 'previews.localhost' }, links);
  const limits = { previewsMax: 2, daysMax: 14, drafts: true };
  await system.asSystem((ctx) => updatePreviewPolicy(asPerson(ctx), { appId, enabled: true, ...limits }));
});
afterAll(async () => {
  await github?.fake.close();
  await system?.stop();
});

function asPerson(ctx: Ctx): Ctx {
  return { ...ctx, actor: { kind: 'member', userId: newId('usr'), role: 'owner' } };
}

interface Change {
  readonly number: number;
  readonly hash: string;
  readonly fork?: boolean;
}

/** Delivers a published example of the event, with the head of this pull request. */
async function deliver(action: string, { number, hash, fork = false }: Change): Promise<void> {
  const example = webhookExample('pull_request', action) as { readonly pull_request: Record<string, unknown> };
  const head = { ref: 'shoes', sha: hash, repo: { id: fork ? 1 : repositoryId } };
  const changedAt = new Date().toISOString();
  const body = JSON.stringify({
    ...example,
    number,
    repository: { id: repositoryId, full_name: 'acme/shop' },
    pull_request: { ...example.pull_request, number, head, draft: false, updated_at: changedAt },
  });
  const { organizationId, database } = system.product;
  const origin = { source: 'github', endpointId: github.githubAppId, event: 'pull_request' } as const;
  await database.system('deliver a webhook', (tx) =>
    recordDeliveries({ tx, clock: systemClock }, [{ ...origin, organizationId, deliveryKey: newId('evt'), body }]),
  );
}

const find = async (number: number): Promise<PreviewView | undefined> =>
  (await system.asSystem((ctx) => listPreviews(ctx, { appId }, links))).items.find((each) => each.number === number);

/** Commits an app that answers with a text, to the ref that GitHub keeps for the pull request. */
const commit = (number: number, text: string) =>
  repository.commit(`Say ${text}`, respondingApp(text), `refs/pull/${number}/head`);

const visit = (number: number) => system.get(`shop-pr-${number}.previews`).catch(() => undefined);
const answersWith = (number: number, text: string) =>
  waitFor(async () => ((await visit(number))?.body === text ? true : undefined), {
    what: `${text} at the preview of #${number}`,
    timeoutMs,
  });

const commentOn = (number: number) =>
  github.fake.state.received.findLast(({ operation, body }) => operation === 'comments' && body.on === number);
const commentSays = (number: number, text: string) =>
  waitFor(async () => String(commentOn(number)?.body.body).includes(text) || undefined, {
    what: `“${text}” in the comment on #${number}`,
    timeoutMs,
  });

test('a pull request is live at its own host, follows its pushes, and is gone when it closes', async () => {
  await deliver('opened', { number: 1, hash: await commit(1, 'first') });
  await answersWith(1, 'first');
  await commentSays(1, '| Live |');
  const [comment, preview] = [commentOn(1)?.id, await find(1)];
  expect(String(commentOn(1)?.body.body)).toContain(`http://shop-pr-1.previews.localhost:${system.ports.http}`);
  const answer = await system.getResponse('shop-pr-1.previews', '/');
  expect(answer.headers['x-robots-tag']).toBe('noindex');

  const hash = await commit(1, 'second');
  await deliver('synchronize', { number: 1, hash });
  await answersWith(1, 'second');
  expect(await find(1)).toMatchObject({ environmentId: preview?.environmentId, headHash: hash });

  await deliver('closed', { number: 1, hash });
  await waitFor(async () => ((await find(1)) === undefined ? true : undefined), { what: 'the end of #1', timeoutMs });
  await waitFor(async () => ((await visit(1))?.body === 'second' ? undefined : true), { what: 'no answer', timeoutMs });
  await commentSays(1, 'is closed');
  expect(commentOn(1)?.id).toBe(comment);
  expect(github.fake.state.problems).toEqual([]);
});

test('a commit of a fork is built after a member approved it, and not before', async () => {
  const hash = await commit(2, 'from a fork');
  await deliver('opened', { number: 2, hash, fork: true });
  await commentSays(2, 'A member must approve');
  const waiting = await find(2);
  expect(waiting).toMatchObject({ state: 'waiting', environmentId: null, deploymentId: null });
  const previewId = waiting?.id ?? (newId('prv') satisfies PreviewId);
  await system.asSystem((ctx) => approvePreview(asPerson(ctx), { previewId, commitHash: hash }));
  await answersWith(2, 'from a fork');
});
