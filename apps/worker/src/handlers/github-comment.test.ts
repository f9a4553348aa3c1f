// Tests of the comment on a pull request: one, edited in place, also after crashes and outages.
import type { Capability } from '@fairlead/contract/capabilities';
import { type AppId, newId, parseId } from '@fairlead/contract/ids';
import { updateBaseDomain } from '@fairlead/core/domain';
import { updatePreviewPolicy } from '@fairlead/core/preview';
import { processDelivery, recordDeliveries } from '@fairlead/core/push';
import { githubPullRequest, type TestPullRequest } from '@fairlead/core/push/testing';
import { updateSecrets } from '@fairlead/core/secret';
import { type TestWorld, testHosts, testWorld } from '@fairlead/core/testing';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { createFakeGithub, type FakeGithub } from '@fairlead/testkit';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { connectApp, githubParts } from './github.testing.ts';
import { sendGithubReportsHandler } from './github-report.ts';
import type { HandlerParts } from './handler.ts';
import { sweepPreviewsHandler } from './preview.ts';

let db: TestDatabase;
let world: TestWorld;
let fake: FakeGithub;
let parts: HandlerParts;
let appId: AppId;
let githubAppId: string;
let repositoryId: number;

beforeEach(async () => {
  db = await testDatabase();
  world = await testWorld(db.database);
  fake = await createFakeGithub();
  parts = githubParts(db.database, world, { now: () => new Date() });
  await linkApp();
});
afterEach(async () => {
  expect(fake.state.problems).toEqual([]);
  await fake.close();
  await db.drop();
});

/** Creates an app from a repository of the fake, with previews. */
async function linkApp(): Promise<void> {
  ({ appId, githubAppId, repositoryId } = await connectApp(parts, world, fake, { name: 'Shop @all', host: null }));
  const { serverId } = world;
  const capabilities = ['inspect', 'autoscaling'] satisfies Capability[];
  await world.system(({ tx }) => tx.server.updateMany({ data: { capabilities, sealingRecipient: 'age1test' } }));
  await world.tenant(async (ctx) => {
    await updateBaseDomain(ctx, { serverId, baseDomain: 'apps.example.test' }, testHosts);
    const limits = { previewsMax: 10, daysMax: 14, drafts: true };
    await updatePreviewPolicy(ctx, { appId, enabled: true, ...limits });
  });
}

async function receive(request: TestPullRequest = {}): Promise<void> {
  const body = githubPullRequest(request).replaceAll('"id":42', `"id":${repositoryId}`);
  const delivery = { source: 'github', endpointId: githubAppId, event: 'pull_request', body } as const;
  const { organizationId } = world;
  const [recorded] = await world.system((ctx) =>
    recordDeliveries(ctx, [{ ...delivery, organizationId, deliveryKey: newId('evt') }]),
  );
  const deliveryId = recorded?.deliveryId ?? newId('dlv');
  await world.tenant((ctx) => processDelivery(ctx, { deliveryId }));
}

async function finishNewest(): Promise<void> {
  const { id } = await world.tenant(({ tx }) =>
    tx.deployment.findFirstOrThrow({ where: { appId }, orderBy: { number: 'desc' }, select: { id: true } }),
  );
  await world.advance(id);
  await world.finish(id);
}

const send = () => sendGithubReportsHandler(parts, {});
/** Newest text of each comment. */
const comments = () =>
  Object.values(
    Object.fromEntries(
      fake.state.received
        .filter(({ operation }) => operation === 'comments')
        .map(({ id, body }) => [id, String(body.body)]),
    ),
  );

test('one comment follows the preview: queued, live with its address, changed, closed', async () => {
  await receive();
  await send();
  expect(comments()).toEqual([
    expect.stringContaining('| Queued | `0000000` | https://shop-all-pr-7.apps.example.test:4443 |'),
  ]);
  expect(comments()[0]).not.toContain('@all');
  await finishNewest();
  await send();
  expect(comments()).toEqual([
    expect.stringMatching(/\| Live \|.*\[Deployment 1\]\(https:\/\/fairlead\.example\.test\//),
  ]);
  await world.tenant(async (ctx) => {
    const { environmentId } = await ctx.tx.previewPolicy.findFirstOrThrow({ select: { environmentId: true } });
    const owner = { appId, environmentId: parseId('env', environmentId) };
    await updateSecrets(ctx, { owner, items: [{ name: 'TEST_KEY', value: 'no-one-reads-this' }] }, world.keys);
  });
  await receive({ action: 'synchronize', head: 2, at: 5 });
  await finishNewest();
  await send();
  expect(comments()).toEqual([expect.stringContaining('Changed secrets: `TEST_KEY`')]);
  expect(comments()[0]).not.toContain('no-one-reads-this');
  await receive({ action: 'closed', head: 2, open: false, at: 9 });
  await sweepPreviewsHandler(parts, {});
  await send();
  expect(comments()).toEqual([expect.stringContaining('The pull request is closed')]);
});

test('a preview on this machine is linked as the dashboard links it, over http with its port', async () => {
  await receive();
  await world.system(({ tx }) => tx.domain.updateMany({ data: { host: 'shop-all-pr-7.localhost' } }));
  await finishNewest();
  await send();
  expect(comments()).toEqual([expect.stringContaining('| http://shop-all-pr-7.localhost:4480 |')]);
  const [status] = fake.state.received.filter(({ operation }) => operation === 'deployment_statuses').slice(-1);
  expect(status?.body).toMatchObject({ environment_url: 'http://shop-all-pr-7.localhost:4480' });
});

test('a preview on another server is linked with https and no port', async () => {
  await receive();
  await world.system(({ tx }) => tx.server.updateMany({ data: { isLocal: false } }));
  await send();
  expect(comments()).toEqual([expect.stringContaining('| https://shop-all-pr-7.apps.example.test |')]);
});

test('deployments at GitHub become inactive when the preview ends', async () => {
  await receive();
  await finishNewest();
  await send();
  await receive({ action: 'closed', open: false, at: 9 });
  await sweepPreviewsHandler(parts, {});
  await send();
  const statuses = fake.state.received.filter(({ operation }) => operation === 'deployment_statuses');
  expect(statuses.at(-1)?.body).toMatchObject({ state: 'inactive', on: statuses[0]?.body.on });
  expect(await world.system(({ tx }) => tx.githubComment.findFirst())).toMatchObject({ endedIds: [] });
});

test('a crash after GitHub’s answer, and an outage, double no comment', async () => {
  await receive();
  await send();
  const nextAttemptAt = world.clock.now();
  await world.system(({ tx }) => tx.githubComment.updateMany({ data: { commentId: null, nextAttemptAt } }));
  fake.state.faults.down = true;
  await send();
  fake.state.faults.down = false;
  world.clock.forward(60_000);
  await send();
  expect(comments()).toHaveLength(1);
  const row = await world.system(({ tx }) => tx.githubComment.findFirstOrThrow());
  expect(row).toMatchObject({ commentId: expect.any(BigInt), nextAttemptAt: null, problem: '' });
});

test('a comment of somebody else with the same marker is left alone', async () => {
  const body = { body: `<!-- fairlead preview ${appId} --> mine`, on: 7, app: 1 };
  fake.state.received.push({ operation: 'comments', repository: 'acme/shop', id: 5, body });
  await receive();
  await send();
  expect(comments()).toHaveLength(2);
  expect(comments()[0]).toContain('mine');
});

test('a comment that a person deleted is written again with the next change', async () => {
  await receive();
  await send();
  fake.state.received.length = 0;
  await receive({ action: 'synchronize', head: 2, at: 5 });
  await send();
  expect(comments()).toHaveLength(1);
});

test('a fork’s pull request says that it waits, and a closed one that was never known says nothing', async () => {
  await receive({ fork: true });
  await receive({ number: 8, action: 'closed', open: false });
  await send();
  expect(comments()).toEqual([expect.stringContaining('A member must approve this commit from a fork')]);
});
