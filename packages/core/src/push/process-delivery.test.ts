// Stored deliveries become deployments of exactly the pushed commits, once, in the order of the pushes.
import { type AppId, newId, parseId } from '@fairlead/contract/ids';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { approveDeployment, getDeployment } from '../deployment/index.ts';
import type { Actor, Ctx } from '../kernel/index.ts';
import { pauseDeploys } from '../placement/index.ts';
import { type TestWorld, testWorld } from '../testing/index.ts';
import {
  findNextDelivery,
  isUnreadable,
  processDelivery,
  pruneDeliveries,
  recordDeliveries,
  recordDeliveryFailure,
  retryPush,
  sweepDeliveries,
} from './index.ts';
import { githubPush, linkRepository, registerGithubApp, type TestPush, testHash } from './testing.ts';

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
});

async function receive(push: TestPush | string, deliveryKey: string = newId('evt')): Promise<string | null> {
  const body = typeof push === 'string' ? push : githubPush(push);
  const { organizationId } = world;
  const delivery = {
    organizationId,
    source: 'github',
    endpointId: githubAppId,
    deliveryKey,
    event: 'push',
    body,
  } as const;
  const [recorded] = await world.system((ctx) => recordDeliveries(ctx, [delivery]));
  return recorded?.deliveryId ?? null;
}

const asWorker = <T>(work: (ctx: Ctx) => Promise<T>): Promise<T> =>
  world.tenant((ctx) => work({ ...ctx, actor: { kind: 'system', reason: 'delivery.process' } }));

async function processAll(): Promise<void> {
  for (;;) {
    const deliveryId = await world.tenant(findNextDelivery);
    if (deliveryId === null) return;
    await asWorker((ctx) => processDelivery(ctx, { deliveryId }));
  }
}

async function push(given: TestPush): Promise<string> {
  const deliveryId = await receive(given);
  await processAll();
  return deliveryId ?? '';
}

const decisions = () =>
  world.tenant(async ({ tx }) => {
    const rows = await tx.pushDecision.findMany({
      include: { delivery: true },
      orderBy: [{ delivery: { sequence: 'asc' } }, { appId: 'asc' }],
    });
    return rows.map(({ delivery, outcome, reason }) => [delivery.after, outcome, reason]);
  });
const deployments = () =>
  world.tenant(({ tx }) => tx.deployment.findMany({ orderBy: { number: 'asc' }, where: { appId } }));
const states = async () => (await deployments()).map(({ commitHash, state }) => [commitHash, state]);

test('a push deploys exactly its commit, with its author and message, although the branch moved since', async () => {
  await push({ after: testHash(2), message: 'Sell shoes\n\nAnd hats.' });
  await push({ before: testHash(2), after: testHash(3), ref: 'refs/heads/next' });
  const [made, ...others] = await deployments();
  expect(others).toEqual([]);
  expect(made).toMatchObject({
    trigger: 'push',
    state: 'queued',
    ref: testHash(2),
    commitHash: testHash(2),
    commitSubject: 'Sell shoes',
    commitAuthor: 'Ada Lovelace',
    origin: { branch: 'main' },
  });
  expect(await decisions()).toEqual([
    [testHash(2), 'deployed', 'matches'],
    [testHash(3), 'skipped', 'other_branch'],
  ]);
});

test('a replayed delivery changes nothing, and neither does a second run of its job', async () => {
  const first = await receive({}, 'guid');
  expect(await receive({}, 'guid')).toBeNull();
  await processAll();
  await asWorker((ctx) => processDelivery(ctx, { deliveryId: parseId('dlv', first ?? '') }));
  expect(await receive({}, 'guid')).toBeNull();
  await processAll();
  expect(await states()).toHaveLength(1);
  // The same push under another id, as after a repeated redelivery from the host.
  await push({});
  expect(await states()).toHaveLength(1);
  expect((await decisions())[1]).toEqual([testHash(2), 'skipped', 'repeated']);
});

test('two concurrent runs deploy a push once', async () => {
  const deliveryId = parseId('dlv', (await receive({})) ?? '');
  await Promise.all([1, 2, 3].map(() => asWorker((ctx) => processDelivery(ctx, { deliveryId }))));
  expect(await states()).toHaveLength(1);
});

test('a transaction that dies leaves the delivery for the next run', async () => {
  const deliveryId = parseId('dlv', (await receive({})) ?? '');
  const killed = asWorker(async (ctx) => {
    await processDelivery(ctx, { deliveryId });
    throw new Error('killed');
  });
  await expect(killed).rejects.toThrow('killed');
  expect([await states(), await decisions()]).toEqual([[], []]);
  expect(await world.system(sweepDeliveries)).toBe(1);
  await processAll();
  expect(await states()).toHaveLength(1);
  expect(await world.system(sweepDeliveries)).toBe(0);
});

test('fifty pushes deploy the last and name the others superseded, in any order', { timeout: 120_000 }, async () => {
  const pushes = Array.from({ length: 50 }, (_, index) => ({
    before: testHash(index + 1),
    after: testHash(index + 2),
    pushedAt: 1_764_000_000 + Math.floor(index / 5),
  }));
  // 17 and 50 have no common divisor, so every push comes once.
  for (let index = 0; index < 50; index += 1) await receive(pushes[(index * 17) % 50] ?? {});
  await processAll();
  const queued = (await states()).filter(([, state]) => state === 'queued');
  expect(queued).toEqual([[testHash(51), 'queued']]);
  const made = await decisions();
  expect(made).toHaveLength(50);
  expect(made.every(([, outcome]) => outcome === 'deployed' || outcome === 'superseded')).toBe(true);
});

test('a push that was taken for too old is deployed once a later delivery shows that it is the newest', async () => {
  const [first, second, third] = [2, 3, 4].map((number) => ({ before: testHash(number), after: testHash(number + 1) }));
  await push({ before: testHash(1), after: testHash(2), pushedAt: 1_763_999_999 });
  // Two gaps within one second: the order of the pushes is unknown until the one between them arrives.
  await push(third ?? {});
  await push({ before: testHash(8), after: testHash(9) });
  await push({ before: testHash(9), after: testHash(4) });
  await push(first ?? {});
  await push(second ?? {});
  expect((await states()).at(-1)).toEqual([testHash(5), 'queued']);
});

test('while deploys are paused pushes are named, and a forced push and a deleted branch deploy nothing older', async () => {
  await world.tenant((ctx) => pauseDeploys(ctx, { appId, paused: true }));
  await push({ pushedAt: 10 });
  await world.tenant((ctx) => pauseDeploys(ctx, { appId, paused: false }));
  expect(await states()).toEqual([]);
  await push({ before: testHash(2), after: testHash(7), forced: true, pushedAt: 20 });
  await push({ before: testHash(7), after: testHash(0), pushedAt: 30 });
  await push({ before: testHash(7), after: testHash(8), pushedAt: 25 });
  expect(await decisions()).toEqual([
    [testHash(2), 'paused', 'paused'],
    [testHash(7), 'deployed', 'matches'],
    [null, 'skipped', 'ref_deleted'],
    [testHash(8), 'superseded', 'later_push'],
  ]);
});

test('several apps of one repository decide for themselves', async () => {
  const docs = await world.createApp('Docs', { deployNow: false });
  await world.system(({ tx }) =>
    tx.placement.updateMany({ where: { appId: docs.appId }, data: { watchPaths: ['docs/**'] } }),
  );
  // The app has no link; its repository address is the one of the push.
  await push({});
  const rows = await world.tenant(({ tx }) => tx.pushDecision.findMany({ select: { appId: true, reason: true } }));
  expect(new Map(rows.map((row) => [row.appId, row.reason]))).toEqual(
    new Map([
      [appId, 'matches'],
      [docs.appId, 'no_watched_path'],
    ]),
  );
});

test('a tag deploys the commit that it names, without a branch', async () => {
  await world.system(({ tx }) => tx.placement.updateMany({ where: { appId }, data: { tagPattern: 'v*' } }));
  await push({ ref: 'refs/tags/v1', before: testHash(0), after: testHash(5) });
  expect(await deployments()).toMatchObject([{ ref: testHash(5), origin: { branch: '' } }]);
});

test('a push to a protected environment waits for approval', async () => {
  await world.system(({ tx }) =>
    tx.environment.updateMany({ where: { organizationId: world.organizationId }, data: { protected: true } }),
  );
  await push({});
  const approvals = await world.tenant(({ tx }) => tx.deploymentApproval.findMany());
  expect(approvals).toMatchObject([{ state: 'pending', requestedByUserId: null }]);
});

test('the member whose linked GitHub account pushed cannot approve it, nor can one who retries it', async () => {
  const { organizationId } = world;
  await world.system(({ tx }) => tx.environment.updateMany({ where: { organizationId }, data: { protected: true } }));
  const [pusher, other] = [await addMember('pusher'), await addMember('other')];
  await world.system(({ tx }) =>
    tx.githubAccount.create({
      data: { id: newId('gac'), userId: pusher.userId, githubAppId, githubUserId: 7, login: 'renamed' },
    }),
  );
  const newest = async () => {
    const row = (await deployments()).at(-1);
    return { row, ref: { deploymentId: parseId('dep', row?.id ?? '') } };
  };
  const approveAs = async (actor: Actor) => {
    const { ref } = await newest();
    return world.tenant((ctx) => approveDeployment({ ...ctx, actor }, ref));
  };
  const isOwnOf = async (actor: Actor) => {
    const { ref } = await newest();
    return (await world.tenant((ctx) => getDeployment({ ...ctx, actor }, ref))).approval?.isOwn;
  };

  await push({ senderId: 7 });
  expect((await newest()).row?.requestedByUserId).toBe(pusher.userId);
  expect([await isOwnOf(pusher), await isOwnOf(other)]).toEqual([true, false]);
  await expect(approveAs(pusher)).rejects.toMatchObject({ code: 'approval.own' });
  await approveAs(other);

  // Another person's id, and the same login.
  await push({ senderId: 8, before: testHash(2), after: testHash(3) });
  expect((await newest()).row?.requestedByUserId).toBeNull();
  await approveAs(pusher);

  await world.tenant((ctx) => pauseDeploys(ctx, { appId, paused: true }));
  const deliveryId = parseId('dlv', await push({ senderId: 7, before: testHash(3), after: testHash(4) }));
  await world.tenant((ctx) => pauseDeploys(ctx, { appId, paused: false }));
  await world.tenant((ctx) => retryPush({ ...ctx, actor: other }, { deliveryId, appId }));
  expect((await newest()).row).toMatchObject({ actorUserId: other.userId, requestedByUserId: pusher.userId });
  expect(await isOwnOf(other)).toBe(true);
  for (const actor of [pusher, other]) await expect(approveAs(actor)).rejects.toMatchObject({ code: 'approval.own' });
  await approveAs(await addMember('third'));
});

async function addMember(name: string): Promise<Extract<Actor, { kind: 'member' }>> {
  const userId = newId('usr');
  const { organizationId } = world;
  await world.system(async ({ tx }) => {
    await tx.user.create({ data: { id: userId, name, email: `${userId}@example.test` } });
    await tx.member.create({ data: { id: newId('mem'), organizationId, userId, role: 'deployer' } });
  });
  return { kind: 'member', userId, role: 'deployer' };
}

test('a push whose deployment cannot be queued says why', async () => {
  await world.system(({ tx }) => tx.server.updateMany({ data: { drainedAt: world.clock.now() } }));
  await push({});
  const [row] = await world.tenant(({ tx }) => tx.pushDecision.findMany());
  expect(row).toMatchObject({ outcome: 'failed', reason: 'not_queued' });
  expect(row?.detail).toContain('server');
});

test('a push of another repository, another registration or another organization concerns no app', async () => {
  const other = await testWorld(db.database, `other-${count}`);
  const foreign = await other.createApp('Shop', { deployNow: false });
  const before = await push({ repositoryId: 43 });
  const row = await world.tenant(({ tx }) => tx.webhookDelivery.findFirstOrThrow({ where: { id: before } }));
  expect(row.state).toBe('ignored');
  await push({});
  const touched = await other.tenant(({ tx }) => tx.pushDecision.count({ where: { appId: foreign.appId } }));
  expect(touched).toBe(0);
  expect(await states()).toHaveLength(1);
});

test('an unreadable body fails for good and blocks nothing; other errors are tried again later', async () => {
  const bad = parseId('dlv', (await receive('{"ref":1}')) ?? '');
  const error = await world
    .tenant((ctx) => processDelivery(ctx, { deliveryId: bad }))
    .catch((caught: unknown) => caught);
  expect(isUnreadable(error)).toBe(true);
  await world.tenant((ctx) => recordDeliveryFailure(ctx, { deliveryId: bad, isFinal: true }));
  const later = parseId('dlv', (await receive({})) ?? '');
  await world.tenant((ctx) => recordDeliveryFailure(ctx, { deliveryId: later, isFinal: false }));
  expect(await world.tenant(findNextDelivery)).toBeNull();
  world.clock.forward(5_000);
  await processAll();
  expect(await states()).toHaveLength(1);
  const rows = await world.tenant(({ tx }) => tx.webhookDelivery.findMany({ orderBy: { sequence: 'asc' } }));
  expect(rows.map(({ state, attempts }) => [state, attempts])).toEqual([
    ['failed', 1],
    ['processed', 1],
  ]);
});

test('old deliveries go with their decisions; those that wait stay', async () => {
  await push({});
  await receive({ before: testHash(2), after: testHash(3) });
  world.clock.forward(31 * 24 * 60 * 60_000);
  expect(await world.system(pruneDeliveries)).toBe(false);
  const left = await world.tenant(({ tx }) => tx.webhookDelivery.findMany({ select: { state: true } }));
  expect(left).toEqual([{ state: 'received' }]);
});
