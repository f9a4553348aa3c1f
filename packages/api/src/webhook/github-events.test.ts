// Events about installations and repositories: GitHub's published payloads, signed, change what Fairlead knows.
import { createSignedCookies } from '@fairlead/auth';
import { type AppId, newId, parseId } from '@fairlead/contract/ids';
import { getAppRepository, listGithubApps } from '@fairlead/core/github';
import { processDelivery } from '@fairlead/core/push';
import { linkRepository, registerGithubApp, repositoryId } from '@fairlead/core/push/testing';
import { silentLog, type TestWorld, testWorld } from '@fairlead/core/testing';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { signWebhook, webhookExample } from '@fairlead/testkit';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createRateLimit, defaultCallLimits } from '../rate-limit.ts';
import { createWebhooks, type Webhooks } from './answer-webhook.ts';

const webhookSecret = 'it-is-a-secret-to-everybody';
let db: TestDatabase;
let world: TestWorld;
let webhooks: Webhooks;
let githubAppId: string;
let appId: AppId;

beforeAll(async () => {
  db = await testDatabase();
  world = await testWorld(db.database);
  githubAppId = await registerGithubApp(world, webhookSecret);
  ({ appId } = await world.createApp('Shop', { deployNow: false }));
  const cookies = createSignedCookies({ secret: 's'.repeat(48), baseUrl: 'https://fairlead.example.test' });
  const { keys, clock } = world;
  webhooks = createWebhooks({
    database: db.database,
    secretKeys: keys,
    rateLimit: createRateLimit({ limits: defaultCallLimits, database: db.database, secret: 'test', cookies }),
    trustedProxies: [],
    clock,
    log: silentLog,
  });
});
afterAll(() => db.drop());
beforeEach(async () => {
  await world.system(async ({ tx }) => {
    await tx.appRepository.deleteMany();
    await tx.githubRepository.deleteMany();
    await tx.githubInstallation.updateMany({ data: { suspendedAt: null, removedAt: null, accountLogin: 'acme' } });
  });
  await linkRepository(world, githubAppId, appId);
  await world.tenant(({ tx, organizationId }) =>
    tx.githubRepository.create({
      data: {
        organizationId,
        installationId: githubAppId.replace('gha', 'ghi'),
        repositoryId,
        fullName: 'acme/shop',
        defaultBranch: 'main',
        isPrivate: true,
        isArchived: false,
      },
    }),
  );
});

/** The installation and repository of this test, in a published example. */
function exampleOf(event: string, action: string) {
  const example = webhookExample(event, action);
  const own = { installation: 1, repository: repositoryId };
  return Object.fromEntries(
    Object.entries(example).map(([name, value]) =>
      name === 'installation' || name === 'repository'
        ? [name, { ...(value as object), id: own[name] }]
        : [name, value],
    ),
  );
}

/** Sends an event and processes it. Returns the delivery. */
async function send(event: string, payload: object) {
  const { headers, body } = signWebhook({ id: 1, webhookSecret }, event, payload, newId('evt'));
  const request = new Request('http://127.0.0.1', { method: 'POST', headers, body });
  const response = await webhooks.answer(githubAppId, request);
  expect(response.status).toBe(202);
  const deliveryId = parseId('dlv', ((await response.json()) as { readonly deliveryId: string }).deliveryId);
  await world.tenant((ctx) => processDelivery(ctx, { deliveryId }));
  return world.tenant(({ tx }) => tx.webhookDelivery.findUniqueOrThrow({ where: { id: deliveryId } }));
}

const installation = async () => (await world.tenant(listGithubApps)).items[0]?.installations[0];
const linked = async () => (await world.tenant((ctx) => getAppRepository(ctx, { appId }))).repository;
const syncJobs = () =>
  world.system(
    ({ tx }) =>
      tx.$queryRaw<{ waiting: number }[]>`SELECT waiting::int FROM guard.count_jobs() WHERE name = 'github.sync_app'`,
  );

test('an installation is suspended, comes back and is removed, and its apps say so', async () => {
  expect(await send('installation', exampleOf('installation', 'suspend'))).toMatchObject({
    event: 'installation.suspend',
    state: 'processed',
    problem: '',
  });
  expect([(await installation())?.state, (await linked())?.state]).toEqual(['suspended', 'suspended']);
  await send('installation', exampleOf('installation', 'unsuspend'));
  expect([(await installation())?.state, (await linked())?.state]).toEqual(['active', 'active']);
  await send('installation', exampleOf('installation', 'new_permissions_accepted'));
  expect((await installation())?.state).toBe('active');
  await send('installation', exampleOf('installation', 'deleted'));
  expect([(await installation())?.state, (await linked())?.state]).toEqual(['removed', 'removed']);
  expect(await syncJobs()).toEqual([{ waiting: 1 }]);
});

test('an installation that nobody linked stays out', async () => {
  const example = exampleOf('installation', 'created');
  const foreign = { ...example, installation: { ...(example.installation as object), id: 2 } };
  expect(await send('installation', foreign)).toMatchObject({
    state: 'ignored',
    problem: 'Fairlead uses neither this installation nor this repository.',
  });
  expect(await world.tenant(({ tx }) => tx.githubInstallation.count())).toBe(1);
});

test('a repository that leaves the installation is lost to its apps', async () => {
  const removed = {
    ...exampleOf('installation_repositories', 'removed'),
    repositories_removed: [{ id: repositoryId }],
  };
  await send('installation_repositories', removed);
  expect((await linked())?.state).toBe('lost');
  expect(await world.tenant(({ tx }) => tx.githubRepository.count())).toBe(0);
});

test('a renamed account keeps its installation', async () => {
  const target = { action: 'renamed', account: { id: 1, login: 'acme-shoes' }, installation: { id: 1 } };
  await send('installation_target', target);
  expect((await installation())?.accountLogin).toBe('acme-shoes');
});

test('a renamed repository renames the source of its apps, also for clones', async () => {
  await send('repository', exampleOf('repository', 'renamed'));
  const { full_name: fullName } = exampleOf('repository', 'renamed').repository as { readonly full_name: string };
  expect(await linked()).toMatchObject({ fullName, state: 'active' });
  const app = await world.tenant(({ tx }) => tx.app.findUniqueOrThrow({ where: { id: appId } }));
  expect(app.repositoryUrl).toMatch(new RegExp(`/${fullName}\\.git$`));
});

test.each([
  ['publicized', false],
  ['privatized', true],
])('a repository that is %s is known as such', async (action, isPrivate) => {
  await send('repository', exampleOf('repository', action));
  expect(await world.tenant(({ tx }) => tx.appRepository.findFirst())).toMatchObject({ isPrivate });
});

test('a deleted repository is lost, and a transferred one is read again', async () => {
  await send('repository', exampleOf('repository', 'transferred'));
  expect((await linked())?.state).toBe('active');
  await send('repository', { ...exampleOf('repository', 'renamed'), action: 'deleted' });
  expect((await linked())?.state).toBe('lost');
});

test('a person who revokes an authorization changes nothing', async () => {
  expect(await send('github_app_authorization', exampleOf('github_app_authorization', 'revoked'))).toMatchObject({
    state: 'ignored',
    problem: 'Fairlead keeps no authorization of this person.',
  });
});

test('a payload of another shape is refused', async () => {
  const { headers, body } = signWebhook({ id: 1, webhookSecret }, 'installation', { action: 'suspend' }, newId('evt'));
  const response = await webhooks.answer(githubAppId, new Request('http://x', { method: 'POST', headers, body }));
  expect(response.status).toBe(400);
});
