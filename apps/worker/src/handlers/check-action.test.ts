// Tests of requests on check runs: they act as the linked member, by the procedures' rules, once.

import { type AppId, type DeploymentId, newId, parseId } from '@fairlead/contract/ids';
import { listCheckActions } from '@fairlead/core/check-action';
import { approveDeployment, createDeployment } from '@fairlead/core/deployment';
import { parseCheckRequest } from '@fairlead/core/github';
import { recordDeliveries } from '@fairlead/core/push';
import { linkRepository, registerGithubApp, repositoryId, testHash } from '@fairlead/core/push/testing';
import { commitHash, silentLog, type TestPerson, type TestWorld, testPerson, testWorld } from '@fairlead/core/testing';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { webhookExample } from '@fairlead/testkit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { processDeliveriesHandler } from './delivery.ts';
import type { HandlerParts } from './handler.ts';

let db: TestDatabase;
let world: TestWorld;
let githubAppId: string;
let developer: TestPerson;
let viewer: TestPerson;
let apps = 0;
let deliveries = 0;

beforeAll(async () => {
  db = await testDatabase();
  world = await testWorld(db.database);
  githubAppId = await registerGithubApp(world, 'secret');
  developer = await testPerson(db.database, world, 'Dora', 'developer');
  viewer = await testPerson(db.database, world, 'Vic', 'viewer');
  await link(developer.userId, 11);
  await link(viewer.userId, 12);
});
afterAll(() => db.drop());

const link = (userId: string, githubUserId: number) =>
  world.system(({ tx }) =>
    tx.githubAccount.create({ data: { id: newId('evt'), userId, githubAppId, githubUserId, login: 'any' } }),
  );

/** Creates an app with a live deployment, and a report of it. */
async function liveApp() {
  apps += 1;
  const { appId, deploymentId } = await world.createApp(`App ${apps}`);
  const repository = repositoryId + apps;
  await linkRepository(world, githubAppId, appId, repository);
  if (deploymentId === null) throw new Error('no deployment');
  await goLive(deploymentId);
  return { appId, deploymentId: deploymentId as DeploymentId, repository };
}

async function goLive(deploymentId: string): Promise<void> {
  await world.advance(deploymentId);
  await world.finish(deploymentId);
}

async function deploy(appId: AppId): Promise<DeploymentId> {
  const { deploymentId } = await world.tenant((ctx) => createDeployment(ctx, { appId }));
  await goLive(deploymentId);
  return deploymentId;
}

interface Click {
  readonly repository: number;
  readonly deploymentId?: string;
  /** Button; none: a re-run. */
  readonly identifier?: string;
  readonly sender?: number;
  readonly event?: 'check_run' | 'check_suite';
  readonly endpointId?: string;
  readonly key?: string;
  /** Body of an earlier click, sent again. */
  readonly replay?: string;
}

/** Stores a delivery as the intake does, and processes it. */
async function click({
  repository,
  deploymentId,
  identifier,
  sender = 11,
  event = 'check_run',
  endpointId = githubAppId,
  key,
  replay,
}: Click) {
  const example = webhookExample(event, identifier === undefined ? 'rerequested' : 'requested_action');
  const pressed = JSON.stringify({
    ...example,
    ...(event === 'check_suite'
      ? { check_suite: { ...(example.check_suite as object), head_sha: commitHash } }
      : { check_run: { ...(example.check_run as object), head_sha: commitHash, external_id: deploymentId } }),
    ...(identifier === undefined ? {} : { requested_action: { identifier } }),
    repository: { ...(example.repository as object), id: repository },
    sender: { ...(example.sender as object), id: sender, login: 'octocat' },
    // Every press differs: the check run has the note about the one before.
    note: `press ${deliveries}`,
  });
  const body = replay ?? pressed;
  deliveries += 1;
  const { organizationId } = world;
  const deliveryKey = key ?? `check-${deliveries}`;
  await world.system((ctx) =>
    recordDeliveries(ctx, [{ organizationId, source: 'github', endpointId, deliveryKey, event, body }]),
  );
  await processDeliveriesHandler(
    {
      database: db.database,
      clock: world.clock,
      log: silentLog,
      stopping: new AbortController().signal,
    } as Partial<HandlerParts> as HandlerParts,
    { organizationId },
  );
  return world.tenant(({ tx }) =>
    tx.webhookDelivery.findFirstOrThrow({ where: { deliveryKey }, include: { decisions: true } }),
  );
}

const newest = (appId: AppId) =>
  world.tenant(({ tx }) =>
    tx.deployment.findFirstOrThrow({
      where: { appId },
      orderBy: { number: 'desc' },
      include: { approval: true },
    }),
  );
const noteOf = async (deploymentId: string) =>
  (await world.tenant(({ tx }) => tx.githubReport.findUnique({ where: { deploymentId } })))?.note;

test('a re-run deploys the commit again as the linked member, and its replay does nothing', async () => {
  const { appId, deploymentId, repository } = await liveApp();
  const key = 'replayed';
  const delivery = await click({ repository, deploymentId, key });
  expect(delivery).toMatchObject({ state: 'processed', sender: 'octocat', commitHash, problem: '' });
  const started = await newest(appId);
  expect(started).toMatchObject({
    number: 2,
    trigger: 'redeploy',
    ref: commitHash,
    requestedByUserId: developer.userId,
  });
  expect(delivery.decisions).toMatchObject([{ outcome: 'deployed', reason: 'rerun', deploymentId: started.id }]);
  expect(await noteOf(deploymentId)).toBe('Re-run by @octocat: deployment 2.');
  expect(await click({ repository, deploymentId, key })).toMatchObject({ id: delivery.id });
  expect((await newest(appId)).number).toBe(2);
});

test('a captured request acts once, also under another id, in another order, and after its delivery is deleted', async () => {
  const { appId, deploymentId, repository } = await liveApp();
  const { body } = await click({ repository, deploymentId });
  expect((await newest(appId)).number).toBe(2);
  await goLive((await newest(appId)).id);
  const reordered = JSON.stringify(Object.fromEntries(Object.entries(JSON.parse(body) as object).reverse()), null, 1);
  for (const replay of [body, reordered]) {
    expect(await click({ repository, replay })).toMatchObject({
      state: 'ignored',
      problem: expect.stringContaining('processed before'),
      decisions: [],
    });
  }
  expect(await click({ repository, replay: body, event: 'check_suite' })).not.toMatchObject({ state: 'processed' });
  await world.system(({ tx }) => tx.webhookDelivery.deleteMany());
  expect(await click({ repository, replay: body })).toMatchObject({ state: 'ignored', decisions: [] });
  expect((await newest(appId)).number).toBe(2);
  // The person presses again.
  expect(await click({ repository, deploymentId })).toMatchObject({ state: 'processed' });
  expect((await newest(appId)).number).toBe(3);
});

test('two refusals for the same reason answer differently, so that a press after them is a new one', async () => {
  const { deploymentId, repository } = await liveApp();
  await click({ repository, deploymentId, sender: 99 });
  const first = await noteOf(deploymentId);
  world.clock.forward(1000);
  await click({ repository, deploymentId, sender: 99 });
  expect(await noteOf(deploymentId)).not.toBe(first);
});

test('the audit log names the member, and the requester cannot approve', async () => {
  const { appId, deploymentId, repository } = await liveApp();
  const { environmentId } = await newest(appId);
  await protect(environmentId, true);
  try {
    await click({ repository, deploymentId });
    const waiting = await newest(appId);
    expect(waiting.approval).toMatchObject({ state: 'pending', requestedByUserId: developer.userId });
    expect(waiting.state).toBe('queued');
    const actor = { kind: 'member', userId: developer.userId, role: 'developer' } as const;
    const ref = { deploymentId: parseId('dep', waiting.id) };
    await expect(world.tenant((ctx) => approveDeployment({ ...ctx, actor }, ref))).rejects.toMatchObject({
      code: 'approval.own',
    });
    const event = await world.tenant(({ tx }) =>
      tx.auditEvent.findFirst({ where: { action: 'deployment.redeploy', targetId: waiting.id } }),
    );
    expect(event).toMatchObject({ actorUserId: developer.userId });
  } finally {
    await protect(environmentId, false);
  }
});

const protect = (id: string, isProtected: boolean) =>
  world.tenant(({ tx }) => tx.environment.updateMany({ where: { id }, data: { protected: isProtected } }));

test.each<[string, Partial<Click>, string]>([
  ['an account that is not linked', { sender: 99 }, 'is linked to no member'],
  ['a member without the permission', { sender: 12 }, 'does not allow this'],
])('%s is refused, and the check run says so', async (_, change, sentence) => {
  const { appId, deploymentId, repository } = await liveApp();
  const delivery = await click({ repository, deploymentId, ...change });
  expect(delivery.decisions).toMatchObject([
    { outcome: 'refused', reason: 'rerun', detail: expect.stringContaining(sentence), deploymentId: null },
  ]);
  expect(await noteOf(deploymentId)).toMatch(/^Re-run by @octocat at \S+Z was rejected\. /);
  expect((await newest(appId)).number).toBe(1);
});

test('a link ends with the membership', async () => {
  const { appId, deploymentId, repository } = await liveApp();
  const gone = await testPerson(db.database, world, 'Gone', 'owner');
  await link(gone.userId, 13);
  await world.tenant(({ tx }) => tx.member.delete({ where: { id: gone.memberId } }));
  expect((await click({ repository, deploymentId, sender: 13 })).decisions).toMatchObject([{ outcome: 'refused' }]);
  expect((await newest(appId)).number).toBe(1);
});

test('an organization that requires a second factor refuses every request', async () => {
  const { appId, deploymentId, repository } = await liveApp();
  const require = (requiresTwoFactor: boolean) =>
    world.tenant(({ tx, organizationId }) =>
      tx.organization.update({ where: { id: organizationId }, data: { requiresTwoFactor } }),
    );
  await require(true);
  try {
    expect((await click({ repository, deploymentId })).decisions).toMatchObject([
      { outcome: 'refused', detail: expect.stringContaining('second factor') },
    ]);
  } finally {
    await require(false);
  }
  expect((await newest(appId)).number).toBe(1);
});

test('a rollback restores the release before, and only while the deployment is live', async () => {
  const { appId, deploymentId: first, repository } = await liveApp();
  const before = await newest(appId);
  const second = await deploy(appId);
  expect((await click({ repository, deploymentId: first, identifier: 'rollback' })).decisions).toMatchObject([
    { outcome: 'refused', detail: expect.stringContaining('Another release is live') },
  ]);
  const delivery = await click({ repository, deploymentId: second, identifier: 'rollback' });
  expect(delivery.decisions).toMatchObject([{ outcome: 'deployed', reason: 'rollback' }]);
  expect(await newest(appId)).toMatchObject({ trigger: 'rollback', releaseId: before.releaseId, number: 3 });
});

test('a promotion goes to the environment of the button, and to no other', async () => {
  const { appId, deploymentId, repository } = await liveApp();
  await world.addEnvironment(appId, { name: `Staging ${apps}` });
  const { environmentId } = await newest(appId);
  // From the primary environment there is nowhere to promote to.
  expect(await world.tenant((ctx) => listCheckActions(ctx, { deploymentId }))).toEqual([]);
  await world.tenant(async ({ tx }) => {
    await tx.placement.updateMany({ where: { appId, environmentId }, data: { isPrimary: false } });
    await tx.placement.updateMany({ where: { appId, NOT: { environmentId } }, data: { isPrimary: true } });
  });
  const [promote] = await world.tenant((ctx) => listCheckActions(ctx, { deploymentId }));
  expect(promote).toMatchObject({ label: 'Promote', description: `Release this to Staging ${apps}` });
  expect(promote?.identifier.length).toBeLessThanOrEqual(20);
  expect((await click({ repository, deploymentId, identifier: 'promote-000000000000' })).decisions).toMatchObject([
    { outcome: 'refused' },
  ]);
  expect((await click({ repository, deploymentId, identifier: promote?.identifier ?? '' })).decisions).toMatchObject([
    { outcome: 'deployed', reason: 'promote' },
  ]);
  expect(await newest(appId)).toMatchObject({ trigger: 'promote' });
  expect((await newest(appId)).environmentId).not.toBe(environmentId);
});

test('a check suite runs every app of the commit again', async () => {
  const one = await liveApp();
  const two = await world.createApp(`Second of ${one.repository}`);
  await linkRepository(world, githubAppId, two.appId, one.repository);
  await goLive(two.deploymentId ?? '');
  const delivery = await click({ repository: one.repository, event: 'check_suite' });
  expect(delivery.decisions.map(({ outcome }) => outcome)).toEqual(['deployed', 'deployed']);
  expect([(await newest(one.appId)).number, (await newest(two.appId)).number]).toEqual([2, 2]);
});

test('a request for another repository, from another GitHub App or about another commit concerns nothing', async () => {
  const { appId, deploymentId, repository } = await liveApp();
  const otherApp = await registerGithubApp(world, 'other');
  await world.system(({ tx }) =>
    tx.githubAccount.create({
      data: { id: newId('evt'), userId: developer.userId, githubAppId: otherApp, githubUserId: 11, login: 'any' },
    }),
  );
  for (const change of [{ repository: 1 }, { endpointId: otherApp }, { deploymentId: newId('dep') }]) {
    expect(await click({ repository, deploymentId, ...change })).toMatchObject({ state: 'ignored', decisions: [] });
  }
  expect((await newest(appId)).number).toBe(1);
});

test('only what a person asks for is a request, and a malformed body is none', () => {
  const of = (event: string, action: string, changes: object = {}) =>
    parseCheckRequest(event, JSON.stringify({ ...webhookExample(event, action), ...changes }));
  expect([of('check_run', 'created'), of('check_run', 'completed'), of('check_suite', 'requested')]).toEqual([
    null,
    null,
    null,
  ]);
  // The check run of another maker.
  expect(of('check_run', 'requested_action')).toBeNull();
  expect(of('check_suite', 'rerequested')).toMatchObject({ kind: 'rerun', deploymentId: null });
  const run = { head_sha: testHash(1), external_id: newId('dep') };
  expect(
    of('check_run', 'requested_action', { check_run: run, requested_action: { identifier: 'delete' } }),
  ).toBeNull();
  expect(() => of('check_run', 'rerequested', { sender: { login: '**x**', id: 1 }, check_run: run })).toThrow();
  expect(() => parseCheckRequest('check_run', '{')).toThrow();
});
