// Life of previews: what a pull request's deliveries create, change and delete, in any order and number.
import { type AppId, newId, parseId } from '@fairlead/contract/ids';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { detachEnvironment, updateConfig } from '../app/index.ts';
import { findNewestConfig } from '../config/index.ts';
import { createDeployment, listDeployments } from '../deployment/index.ts';
import { updateBaseDomain } from '../domain/index.ts';
import { listEnvironments, updateEnvironment } from '../environment/index.ts';
import type { Ctx } from '../kernel/index.ts';
import {
  approvePreview,
  deletePreviewEnvironment,
  findEndedPreviews,
  findOutdatedPreviews,
  getPreviewPolicy,
  listPreviews,
  type PreviewTask,
  prunePreviews,
  refreshPreview,
  removePreview,
  type UpdatePreviewPolicyInput,
  updatePreviewPolicy,
} from '../preview/index.ts';
import { attachSecretGroup, createSecretGroup, createSnapshot, updateSecrets } from '../secret/index.ts';
import { auditOf, silentLog, type TestWorld, testHosts, testWorld } from '../testing/index.ts';
import { findNextDelivery, getDelivery, processDelivery, recordDeliveries, updatePushRules } from './index.ts';
import {
  githubPullRequest,
  githubPush,
  linkRepository,
  registerGithubApp,
  type TestPullRequest,
  testHash,
} from './testing.ts';

let db: TestDatabase;
let world: TestWorld;
let githubAppId: string;
let appId: AppId;
let count = 0;

beforeAll(async () => {
  db = await testDatabase();
});
afterAll(() => db.drop());
beforeEach(async () => {
  count += 1;
  world = await testWorld(db.database, `acme-${count}`);
  githubAppId = await registerGithubApp(world, 'secret');
  ({ appId } = await world.createApp('Shop', { deployNow: false }));
  await linkRepository(world, githubAppId, appId);
  const baseDomain = `apps-${count}.example.test`;
  await world.tenant((ctx) => updateBaseDomain(ctx, { serverId: world.serverId, baseDomain }, testHosts));
  await setPolicy();
});

const limits = { enabled: true, previewsMax: 10, daysMax: 14, drafts: true };
const setPolicy = (changes: Partial<UpdatePreviewPolicyInput> = {}) =>
  world.tenant((ctx) => updatePreviewPolicy(ctx, { appId, ...limits, ...changes }));

/** Receives a delivery and processes what waits, as the worker does. Returns its decision. */
async function receive(
  request: TestPullRequest | string = {},
  deliveryKey: string = newId('evt'),
  changedFiles: readonly string[] | null = null,
) {
  const isPush = typeof request === 'string';
  const delivery = {
    organizationId: world.organizationId,
    source: 'github',
    endpointId: githubAppId,
    deliveryKey,
    event: isPush ? 'push' : 'pull_request',
    body: isPush ? request : githubPullRequest(request),
  } as const;
  const [recorded] = await world.system((ctx) => recordDeliveries(ctx, [delivery]));
  for (;;) {
    const deliveryId = await world.tenant(findNextDelivery);
    if (deliveryId === null) break;
    await asWorker((ctx) => processDelivery(ctx, { deliveryId, changedFiles }));
  }
  const deliveryId = recorded?.deliveryId ?? null;
  return deliveryId === null ? null : world.tenant(({ tx }) => tx.previewDecision.findFirst({ where: { deliveryId } }));
}

const asWorker = <T>(work: (ctx: Ctx) => Promise<T>): Promise<T> =>
  world.tenant((ctx) => work({ ...ctx, actor: { kind: 'system', reason: 'test' } }));

/** The worker's job: it reaches the previews of every organization. */
async function sweep(): Promise<void> {
  const inTenant = ({ organizationId }: PreviewTask, work: (ctx: Ctx) => Promise<unknown>) =>
    db.database.tenant(organizationId, (tx) =>
      work({ tx, organizationId, clock: world.clock, log: silentLog, actor: { kind: 'system', reason: 'test' } }),
    );
  const findOutdated = () => world.system(findOutdatedPreviews);
  for (let tasks = await findOutdated(); tasks.length > 0; tasks = await findOutdated()) {
    for (const task of tasks) await inTenant(task, (ctx) => refreshPreview(ctx, task));
  }
  for (const task of await world.system(findEndedPreviews)) {
    await inTenant(task, (ctx) => deletePreviewEnvironment(ctx, task));
  }
  await world.system(prunePreviews);
}

const list = async () => (await world.tenant((ctx) => listPreviews(ctx, { appId }, testHosts))).items;
const states = async () => Object.fromEntries((await list()).map(({ number, state }) => [number, state]));
const deployed = () =>
  world.tenant(({ tx }) =>
    tx.deployment.findMany({ where: { appId, trigger: 'pull_request' }, orderBy: { number: 'asc' } }),
  );
const refs = async () => (await deployed()).map(({ ref }) => ref);

test('a pull request becomes an environment with a name, and a deployment of exactly its head', async () => {
  expect(await receive()).toMatchObject({ outcome: 'active', number: 7 });
  const [preview] = await list();
  expect(preview).toMatchObject({
    state: 'active',
    title: 'Sell shoes',
    author: 'ada',
    url: `https://shop-pr-7.apps-${count}.example.test:4443`,
    pullRequestUrl: expect.stringMatching('/acme/shop/pull/7$'),
  });
  expect(await deployed()).toMatchObject([{ ref: testHash(1), commitHash: testHash(1), origin: { branch: 'shoes' } }]);
  const [domain] = await world.tenant(({ tx }) => tx.domain.findMany({ where: { appId, host: { contains: 'pr-7' } } }));
  expect(domain?.policy).toMatchObject({ responseHeaders: [{ name: 'x-robots-tag', value: 'noindex' }] });
});

test('lists of environments and deployments leave previews out', async () => {
  await receive();
  const names = (await world.tenant(listEnvironments)).items.map(({ name }) => name);
  expect(names.sort()).toEqual(['Previews', 'Production']);
  expect((await world.tenant((ctx) => listDeployments(ctx, { appId, limit: 10 }))).items).toEqual([]);
});

test('a push updates the preview in place, and repetitions deploy nothing', async () => {
  await receive({}, 'first');
  const [before] = await list();
  await receive({}, 'first');
  await receive({});
  await receive({ action: 'synchronize', head: 2, at: 5 });
  await receive({ action: 'edited', head: 2, at: 9, title: 'Sell boots' });
  const [after] = await list();
  expect(after).toMatchObject({ environmentId: before?.environmentId, headHash: testHash(2), title: 'Sell boots' });
  expect(await refs()).toEqual([testHash(1), testHash(2)]);
});

test('late deliveries change nothing, also within one second', async () => {
  await receive({ action: 'synchronize', head: 3, at: 5 });
  expect(await receive({ action: 'opened', head: 1, at: 1 })).toMatchObject({ outcome: 'stale' });
  await receive({ action: 'synchronize', head: 4, at: 5 });
  expect(await receive({ action: 'synchronize', head: 3, at: 5 })).toMatchObject({ outcome: 'stale' });
  await receive({ action: 'closed', head: 4, open: false, at: 6 });
  expect(await receive({ action: 'synchronize', head: 4, at: 6 })).toMatchObject({ outcome: 'stale' });
  expect(await refs()).toEqual([testHash(3), testHash(4)]);
});

test('a closed pull request leaves nothing behind, and a reopened one starts again', async () => {
  await receive();
  const environmentId = (await list())[0]?.environmentId ?? '';
  const [deployment] = await deployed();
  await world.advance(deployment?.id ?? '');
  await world.finish(deployment?.id ?? '');
  expect(await receive({ action: 'closed', open: false, at: 3 })).toMatchObject({ outcome: 'closed' });
  await sweep();
  expect(await list()).toEqual([]);
  const counts = await world.system(async ({ tx }) => [
    await tx.environment.count({ where: { id: environmentId } }),
    await tx.placement.count({ where: { environmentId } }),
    await tx.deployment.count({ where: { environmentId } }),
    await tx.release.count({ where: { environmentId } }),
    await tx.domain.count({ where: { environmentId } }),
    await tx.appConfig.count({ where: { environmentId } }),
    await tx.secretSnapshot.count({ where: { environmentId } }),
  ]);
  expect(counts).toEqual([0, 0, 0, 0, 0, 0, 0]);
  expect(await receive({ action: 'reopened', at: 4 })).toMatchObject({ outcome: 'active' });
  expect(await refs()).toEqual([testHash(1)]);
});

test('a build that runs is stopped when its pull request closes', async () => {
  await receive();
  const [deployment] = await deployed();
  await world.advance(deployment?.id ?? '');
  await receive({ action: 'closed', open: false, at: 3 });
  await sweep();
  expect(await deployed()).toEqual([]);
  await world.finish(deployment?.id ?? '');
  expect(await list()).toEqual([]);
});

test('a fork waits for the approval of each commit, and serves the former one meanwhile', async () => {
  expect(await receive({ fork: true })).toMatchObject({ outcome: 'waiting' });
  const [waiting] = await list();
  expect(waiting).toMatchObject({ state: 'waiting', environmentId: null, deploymentId: null });
  const previewId = waiting?.id ?? newId('prv');
  const approve = (head: number) =>
    world.tenant((ctx) => approvePreview(ctx, { previewId, commitHash: testHash(head) }));
  await expect(approve(2)).rejects.toMatchObject({ code: 'preview.head_moved' });
  expect(await refs()).toEqual([]);
  await approve(1);
  expect(await refs()).toEqual([testHash(1)]);
  expect(await receive({ fork: true, action: 'synchronize', head: 2, at: 5 })).toMatchObject({ outcome: 'waiting' });
  await sweep();
  expect((await list())[0]?.environmentId).not.toBeNull();
  await expect(approve(1)).rejects.toMatchObject({ code: 'preview.head_moved' });
  expect(await refs()).toEqual([testHash(1)]);
  await approve(2);
  expect(await refs()).toEqual([testHash(1), testHash(2)]);
  await expect(approve(2)).rejects.toMatchObject({ code: 'preview.not_waiting' });
  expect((await auditOf(world)).filter((action) => action === 'preview.approve')).toHaveLength(2);
  // The deployment names the approver, so that no other rule takes a machine for the person.
  expect((await deployed()).every(({ requestedByUserId }) => requestedByUserId !== null)).toBe(true);
});

test('a token approves nothing', async () => {
  await receive({ fork: true });
  const previewId = (await list())[0]?.id ?? newId('prv');
  const byToken = world.tenant((ctx) =>
    approvePreview(
      { ...ctx, actor: { kind: 'token', tokenId: newId('tok'), userId: null } },
      { previewId, commitHash: testHash(1) },
    ),
  );
  await expect(byToken).rejects.toMatchObject({ code: 'permission.denied' });
});

test('a stranger who opens many pull requests causes no build, and few rows', async () => {
  for (let number = 1; number <= 60; number += 1) await receive({ number, fork: true });
  expect(await receive({ number: 61, fork: true })).toMatchObject({ outcome: 'too_many' });
  expect(await receive({ number: 62, fork: true, draft: true })).toMatchObject({ outcome: 'too_many' });
  expect(await list()).toHaveLength(50);
  expect(await refs()).toEqual([]);
  expect(await receive({ number: 63 })).toMatchObject({ outcome: 'active' });
});

test('an app has as many previews as its policy says, and the next one starts when one ends', async () => {
  await setPolicy({ previewsMax: 1 });
  await receive({ number: 1 });
  expect(await receive({ number: 2 })).toMatchObject({ outcome: 'limited' });
  await sweep();
  expect(await states()).toEqual({ 1: 'active', 2: 'limited' });
  await receive({ number: 1, action: 'closed', open: false, at: 3 });
  await sweep();
  await sweep();
  expect(await states()).toEqual({ 2: 'active' });
});

test('a preview ends by age, and the next push starts it again', async () => {
  await receive();
  world.clock.forward(15 * 24 * 60 * 60_000);
  await sweep();
  expect(await list()).toMatchObject([{ state: 'expired', environmentId: null }]);
  expect(await receive({ action: 'synchronize', head: 2, at: 3 })).toMatchObject({ outcome: 'active' });
});

test('a member removes a preview until the next push', async () => {
  await receive();
  await world.tenant(async (ctx) => removePreview(ctx, { previewId: (await list())[0]?.id ?? newId('prv') }));
  await sweep();
  expect(await receive({ action: 'edited', at: 2 })).toMatchObject({ outcome: 'removed' });
  expect(await list()).toMatchObject([{ state: 'removed', environmentId: null }]);
  expect(await receive({ action: 'synchronize', head: 2, at: 3 })).toMatchObject({ outcome: 'active' });
});

test('a pull request that changes no watched path has no preview, and one that has a preview keeps it', async () => {
  await world.tenant((ctx) => updatePushRules(ctx, { appId, watchPaths: ['apps/web/**'] }));
  const change = (request: TestPullRequest, files: readonly string[] | null) => receive(request, newId('evt'), files);
  const skipped = { outcome: 'no_watched_path', detail: 'apps/web/**', deploymentId: null };
  expect(await change({ number: 7, head: 1 }, ['docs/guide.md'])).toMatchObject(skipped);
  // Neither a row nor a comment.
  expect([await list(), await refs()]).toEqual([[], []]);
  expect(await change({ number: 7, head: 2, at: 10 }, ['docs/guide.md', 'apps/web/page.tsx'])).toMatchObject({
    outcome: 'active',
  });
  expect(await change({ number: 7, head: 3, at: 20 }, ['docs/guide.md'])).toMatchObject({ outcome: 'active' });
  expect(await refs()).toEqual([testHash(2), testHash(3)]);
  // Unknown files deploy, as those of a push do.
  expect(await change({ number: 8, head: 4 }, null)).toMatchObject({ outcome: 'active' });

  // Watch paths of the environment that previews use precede those of the primary one.
  const { environmentId } = await world.tenant((ctx) => getPreviewPolicy(ctx, { appId }));
  if (environmentId === null) throw new Error('previews have no environment');
  await world.tenant((ctx) => updatePushRules(ctx, { appId, environmentId, watchPaths: ['docs/**'] }));
  expect(await change({ number: 9, head: 5 }, ['docs/guide.md'])).toMatchObject({ outcome: 'active' });
  expect(await change({ number: 10, head: 6 }, ['apps/web/page.tsx'])).toMatchObject({ detail: 'docs/**' });
});

test('drafts have a preview if the policy says so', async () => {
  await setPolicy({ drafts: false });
  expect(await receive({ draft: true })).toMatchObject({ outcome: 'draft' });
  expect(await receive({ action: 'ready_for_review', at: 2 })).toMatchObject({ outcome: 'active' });
  expect(await receive({ action: 'converted_to_draft', draft: true, at: 3 })).toMatchObject({ outcome: 'draft' });
  await sweep();
  expect(await list()).toMatchObject([{ environmentId: null }]);
});

test('without a base domain nothing is built until there is one', async () => {
  const { serverId } = world;
  const set = (baseDomain: string | null) =>
    world.tenant((ctx) => updateBaseDomain(ctx, { serverId, baseDomain }, testHosts));
  await set(null);
  expect(await receive()).toMatchObject({ outcome: 'unnamed', detail: expect.stringContaining('base domain') });
  await sweep();
  expect(await refs()).toEqual([]);
  await set(`again-${count}.example.test`);
  await sweep();
  expect(await states()).toEqual({ 7: 'active' });
});

test('switched off, all previews end; on again, open pull requests come back', async () => {
  await receive();
  await setPolicy({ enabled: false });
  await sweep();
  expect(await list()).toMatchObject([{ state: 'off', environmentId: null }]);
  expect(await receive({ number: 8 })).toMatchObject({ outcome: 'off' });
  await setPolicy();
  expect(await states()).toEqual({ 7: 'active' });
});

test('a lost repository ends previews, and a suspended installation does not', async () => {
  await receive();
  const now = world.clock.now();
  await world.system(({ tx }) =>
    tx.githubInstallation.updateMany({ where: { githubAppId }, data: { suspendedAt: now } }),
  );
  await sweep();
  expect(await states()).toEqual({ 7: 'active' });
  await world.system(({ tx }) => tx.appRepository.updateMany({ where: { appId }, data: { lostAt: now } }));
  await sweep();
  expect(await list()).toMatchObject([{ state: 'off', environmentId: null }]);
});

test('pull requests of apps without previews are decided and leave no row', async () => {
  const other = await world.createApp('Blog', { deployNow: false });
  await linkRepository(world, githubAppId, other.appId);
  await receive();
  const delivery = await world.tenant(async (ctx) => {
    const { id } = await ctx.tx.webhookDelivery.findFirstOrThrow({ select: { id: true } });
    return getDelivery(ctx, { deliveryId: parseId('dlv', id) });
  });
  expect(delivery.previews).toMatchObject([
    { appName: 'Blog', outcome: 'off' },
    { appName: 'Shop', outcome: 'active', number: 7 },
  ]);
});

test('settings come from the environment that previews use, and no secret of production does', async () => {
  const policy = await world.tenant((ctx) => getPreviewPolicy(ctx, { appId }));
  const scope = policy.environmentId ?? newId('env');
  await world.tenant(async (ctx) => {
    const variables = { STAGE: { value: 'preview', scope: 'both' } } as const;
    await updateConfig(ctx, { appId, environmentId: scope, settings: { variables, memoryBytesMax: 1000 } });
    const volumes = [{ name: 'data', path: '/data', snapshots: 'off' as const }];
    await updateConfig(ctx, { appId, environmentId: scope, settings: { volumes } });
    const write = (owner: Parameters<typeof updateSecrets>[1]['owner'], name: string) =>
      updateSecrets(ctx, { owner, items: [{ name, value: 'x', atBuild: true }] }, world.keys);
    await write({ appId }, 'LIVE_KEY');
    await write({ appId, environmentId: scope }, 'TEST_KEY');
    const group = await createSecretGroup(ctx, { name: 'shared' });
    await write({ groupId: group.groupId }, 'GROUP_KEY');
    await attachSecretGroup(ctx, { groupId: group.groupId, appId });
  });
  await receive();
  const environmentId = (await list())[0]?.environmentId ?? newId('env');
  const { settings } = await world.tenant((ctx) => findNewestConfig(ctx, { appId, environmentId }));
  expect(settings).toMatchObject({
    variables: { STAGE: { value: 'preview' } },
    memoryBytesMax: 1000,
    volumes: [],
    autoscaling: { instancesMin: 0, instancesMax: 1 },
  });
  const names = await world.tenant(async (ctx) => {
    const { snapshotId } = await createSnapshot(ctx, { appId, environmentId });
    return ctx.tx.secretSnapshotEntry.findMany({ where: { snapshotId: snapshotId ?? '' }, select: { name: true } });
  });
  expect(names).toEqual([{ name: 'TEST_KEY' }]);
  const owner = { appId, environmentId };
  await expect(
    world.tenant((ctx) => updateSecrets(ctx, { owner, items: [{ name: 'A', value: 'b' }] }, world.keys)),
  ).rejects.toMatchObject({ code: 'preview.inherited' });
  await expect(
    world.tenant((ctx) => updateConfig(ctx, { ...owner, settings: { memoryBytesMax: 1 } })),
  ).rejects.toMatchObject({ code: 'preview.inherited' });
});

test('previews use neither the primary nor a protected environment, and need a linked repository', async () => {
  const { items } = await world.tenant(listEnvironments);
  const environmentId = items.find(({ name }) => name === 'Production')?.id;
  await expect(setPolicy({ environmentId })).rejects.toMatchObject({ code: 'preview.environment_unfit' });
  const other = await world.createApp('Blog', { deployNow: false });
  await expect(
    world.tenant((ctx) => updatePreviewPolicy(ctx, { appId: other.appId, ...limits })),
  ).rejects.toMatchObject({ code: 'preview.no_repository' });
});

test('an environment that was protected since gives previews neither builds nor secrets', async () => {
  const { environmentId } = await world.tenant((ctx) => getPreviewPolicy(ctx, { appId }));
  await world.tenant((ctx) =>
    updateEnvironment(ctx, { environmentId: environmentId ?? newId('env'), protected: true }),
  );
  expect(await receive()).toMatchObject({ outcome: 'failed', detail: expect.stringContaining('protected') });
  expect(await refs()).toEqual([]);
});

test('nobody deploys another commit into a preview, and it leaves its environment only as a whole', async () => {
  await receive();
  const environmentId = (await list())[0]?.environmentId ?? newId('env');
  const placement = { appId, environmentId };
  await expect(world.tenant((ctx) => createDeployment(ctx, { ...placement, ref: testHash(9) }))).rejects.toMatchObject({
    code: 'preview.inherited',
  });
  await expect(
    world.tenant((ctx) => detachEnvironment(ctx, { ...placement, confirmName: 'Shop' })),
  ).rejects.toMatchObject({ code: 'preview.inherited' });
});

test('a push to the branch of a pull request deploys nothing a second time', async () => {
  await receive();
  await receive(githubPush({ ref: 'refs/heads/shoes', after: testHash(2) }));
  expect(await refs()).toEqual([testHash(1)]);
  expect(await world.tenant(({ tx }) => tx.deployment.count({ where: { appId } }))).toBe(1);
});
