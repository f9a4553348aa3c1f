// Watch paths of previews: GitHub names the files of a pull request, and is asked only if they decide.
import { newId } from '@fairlead/contract/ids';
import { updateBaseDomain } from '@fairlead/core/domain';
import { updatePreviewPolicy } from '@fairlead/core/preview';
import { recordDeliveries, updatePushRules } from '@fairlead/core/push';
import { testHash } from '@fairlead/core/push/testing';
import { type TestWorld, testHosts, testWorld } from '@fairlead/core/testing';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { createFakeGithub, type FakeGithub, type FakeRepository, webhookExample } from '@fairlead/testkit';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { processDeliveriesHandler } from './delivery.ts';
import { type ConnectedApp, connectApp, githubParts } from './github.testing.ts';
import type { HandlerParts } from './handler.ts';

let db: TestDatabase;
let world: TestWorld;
let fake: FakeGithub;
let parts: HandlerParts;
let app: ConnectedApp;
let repository: FakeRepository;

beforeEach(async () => {
  db = await testDatabase();
  world = await testWorld(db.database);
  fake = await createFakeGithub({ now: () => world.clock.now().getTime() });
  parts = githubParts(db.database, world);
  app = await connectApp(parts, world, fake);
  const { appId } = app;
  const [found] = fake.state.repositories;
  if (found === undefined) throw new Error('the fake has no repository');
  repository = found;
  const { serverId } = world;
  await world.tenant((ctx) => updateBaseDomain(ctx, { serverId, baseDomain: 'apps.example.test' }, testHosts));
  await world.tenant(async (ctx) => {
    await updatePreviewPolicy(ctx, { appId, enabled: true, previewsMax: 10, daysMax: 14, drafts: true });
    await updatePushRules(ctx, { appId, watchPaths: ['apps/web/**'] });
  });
});
afterEach(async () => {
  expect(fake.state.problems).toEqual([]);
  await fake.close();
  await db.drop();
});

/** Receives a pull request's event, and returns the decision. */
async function change(number: number, head: number) {
  const example = webhookExample('pull_request', 'opened') as { readonly pull_request: object };
  const { organizationId } = world;
  const body = JSON.stringify({
    ...example,
    number,
    repository: { id: app.repositoryId, full_name: 'acme/shop' },
    pull_request: {
      ...example.pull_request,
      number,
      head: { ref: 'shoes', sha: testHash(head), repo: { id: app.repositoryId } },
      updated_at: new Date(Date.UTC(2026, 0, 1) + head * 1000).toISOString(),
    },
  });
  const delivery = { source: 'github', event: 'pull_request', endpointId: app.githubAppId, body } as const;
  const [recorded] = await world.system((ctx) =>
    recordDeliveries(ctx, [{ ...delivery, organizationId, deliveryKey: newId('evt') }]),
  );
  await processDeliveriesHandler(parts, { organizationId });
  const deliveryId = recorded?.deliveryId ?? '';
  return world.tenant(({ tx }) => tx.previewDecision.findFirstOrThrow({ where: { deliveryId } }));
}

test('the files of a pull request decide about its preview, and are read once', async () => {
  repository.changedFiles = { 1: ['docs/guide.md'], 2: Array.from({ length: 150 }, (_, index) => `docs/${index}.md`) };
  expect(await change(1, 1)).toMatchObject({ outcome: 'no_watched_path', detail: 'apps/web/**' });
  expect(await change(2, 2)).toMatchObject({ outcome: 'no_watched_path' });
  repository.changedFiles = { 1: ['docs/guide.md', 'apps/web/page.tsx'] };
  expect(await change(1, 3)).toMatchObject({ outcome: 'active' });
  const asked = fake.state.requests;
  expect(await change(1, 4)).toMatchObject({ outcome: 'active' });
  expect(fake.state.requests).toBe(asked);
});

test('without an answer of GitHub, and with more files than it lists, there is a preview', async () => {
  fake.state.faults.down = true;
  expect(await change(1, 1)).toMatchObject({ outcome: 'active' });
  fake.state.faults.down = false;
  repository.changedFiles = { 2: Array.from({ length: 3000 }, (_, index) => `docs/${index}.md`) };
  expect(await change(2, 2)).toMatchObject({ outcome: 'active' });
});
