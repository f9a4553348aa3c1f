// Deployments that wait for named checks of their commit at GitHub.
import { newId } from '@fairlead/contract/ids';
import { getDeployment, wakeCheckWaits } from '@fairlead/core/deployment';
import { listDeliveries, recordDeliveries, updatePushRules } from '@fairlead/core/push';
import { githubPush, testHash } from '@fairlead/core/push/testing';
import { type TestWorld, testPerson, testWorld } from '@fairlead/core/testing';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { createFakeGithub, type FakeGithub, webhookExample } from '@fairlead/testkit';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { processDeliveriesHandler } from './delivery.ts';
import { lookAtChecksHandler } from './deployment-checks.ts';
import { type ConnectedApp, connectApp, githubParts } from './github.testing.ts';
import type { HandlerParts } from './handler.ts';

let db: TestDatabase;
let world: TestWorld;
let fake: FakeGithub;
let parts: HandlerParts;
let app: ConnectedApp;

beforeEach(async () => {
  db = await testDatabase();
  world = await testWorld(db.database);
  fake = await createFakeGithub({ now: () => world.clock.now().getTime() });
  parts = githubParts(db.database, world);
  app = await connectApp(parts, world, fake);
  await world.tenant((ctx) =>
    updatePushRules(ctx, { appId: app.appId, requiredChecks: ['test', 'lint'], checksTimeoutMinutes: 30 }),
  );
});
afterEach(async () => {
  expect(fake.state.problems).toEqual([]);
  await fake.close();
  await db.drop();
});

/** Receives a push and returns its decision. */
async function push(number: number) {
  const { organizationId } = world;
  const commits = { before: testHash(number), after: testHash(number + 1), pushedAt: 1_764_000_000 + number };
  const body = githubPush({ ...commits, repositoryId: app.repositoryId });
  const delivery = { organizationId, source: 'github', event: 'push', endpointId: app.githubAppId, body } as const;
  await world.system((ctx) => recordDeliveries(ctx, [{ ...delivery, deliveryKey: `guid-${number}` }]));
  await processDeliveriesHandler(parts, { organizationId });
  return decisionOf(number);
}

async function decisionOf(number: number) {
  const { items } = await world.tenant((ctx) => listDeliveries(ctx, { limit: 50 }));
  const decision = items.find(({ commitHash }) => commitHash === testHash(number + 1))?.decisions[0];
  if (decision?.deploymentId == null) throw new Error('the push has no deployment');
  return { ...decision, deploymentId: decision.deploymentId };
}

function report(number: number, name: string, conclusion: string | null, kind: 'check_run' | 'status' = 'check_run') {
  const commitHash = testHash(number + 1);
  const { checks } = fake.state;
  const known = checks.find((each) => each.name === name && each.commitHash === commitHash);
  if (known === undefined) checks.push({ kind, repositoryId: app.repositoryId, commitHash, name, conclusion });
  else known.conclusion = conclusion;
}

const look = () => lookAtChecksHandler(parts, {});
/** GitHub's event about a check of the commit. */
const wake = (number: number) =>
  world.system((ctx) =>
    wakeCheckWaits(ctx, { organizationId: world.organizationId, commitHash: testHash(number + 1) }),
  );

test('a push waits for its checks by name, and starts once they have passed', async () => {
  const { deploymentId, pendingChecks } = await push(1);
  expect(pendingChecks).toEqual(['test', 'lint']);
  report(1, 'test', 'success');
  report(1, 'lint', null, 'status');
  await look();
  await world.advance(deploymentId);
  expect(await decisionOf(1)).toMatchObject({ deploymentState: 'queued', pendingChecks: ['lint'] });
  expect((await world.tenant((ctx) => getDeployment(ctx, { deploymentId }))).waiting).toEqual({
    reason: 'checks',
    sentence: 'Waiting for the check lint on GitHub.',
    queue: null,
  });
  report(1, 'lint', 'success', 'status');
  await look();
  expect(await decisionOf(1)).toMatchObject({ pendingChecks: ['lint'] });
  await wake(1);
  await look();
  expect(await decisionOf(1)).toMatchObject({ deploymentState: 'queued', pendingChecks: [] });
  await world.advance(deploymentId);
  expect(await decisionOf(1)).toMatchObject({ deploymentState: 'building' });
});

test('a failed check fails the deployment, by name', async () => {
  await push(1);
  report(1, 'lint', 'timed_out');
  await look();
  expect(await decisionOf(1)).toMatchObject({
    deploymentState: 'failed',
    failureMessage: 'The check lint ended with “timed_out”. Push a commit that passes it.',
  });
});

test('without an event GitHub is asked each minute, until the time limit fails the deployment', async () => {
  await push(1);
  await look();
  report(1, 'test', 'success');
  world.clock.forward(60_000);
  await look();
  expect(await decisionOf(1)).toMatchObject({ deploymentState: 'queued', pendingChecks: ['lint'] });
  fake.state.faults.down = true;
  world.clock.forward(30 * 60_000);
  await look();
  expect(await decisionOf(1)).toMatchObject({
    deploymentState: 'failed',
    failureMessage: 'These checks did not finish in time: lint. Redeploy to deploy without them.',
  });
});

test('a rate limit of GitHub is waited for', async () => {
  await push(1);
  fake.state.faults.rateLimit = { kind: 'primary', remaining: 1, retryAfterSeconds: 300 };
  await look();
  const { requests } = fake.state;
  world.clock.forward(240_000);
  await look();
  expect(fake.state.requests).toBe(requests);
});

test('a later push supersedes one that waits for checks, and not one that is ready', async () => {
  await push(1);
  report(1, 'test', 'success');
  report(1, 'lint', 'neutral');
  await look();
  await push(2);
  expect(await decisionOf(1)).toMatchObject({ deploymentState: 'queued', pendingChecks: [] });
  await push(3);
  expect(await decisionOf(2)).toMatchObject({ deploymentState: 'superseded' });
  report(3, 'test', 'success');
  report(3, 'lint', 'skipped');
  await look();
  expect(await decisionOf(1)).toMatchObject({ deploymentState: 'superseded' });
  const { deploymentId } = await decisionOf(3);
  await world.advance(deploymentId);
  expect(await decisionOf(3)).toMatchObject({ deploymentState: 'building' });
});

test('a re-run on GitHub waits for the checks again', async () => {
  const failed = await push(1);
  report(1, 'lint', 'failure');
  await look();
  expect(await decisionOf(1)).toMatchObject({ deploymentState: 'failed' });
  const person = await testPerson(db.database, world, 'Dora', 'developer');
  await world.system(({ tx }) =>
    tx.githubAccount.create({
      data: { id: newId('evt'), userId: person.userId, githubAppId: app.githubAppId, githubUserId: 11, login: 'dora' },
    }),
  );
  const rerun = async (key: string, deploymentId: string) => {
    const example = webhookExample('check_run', 'rerequested');
    const run = { ...(example.check_run as object), head_sha: testHash(2), external_id: deploymentId };
    const repository = { ...(example.repository as object), id: app.repositoryId };
    const body = JSON.stringify({ ...example, check_run: run, repository, sender: { id: 11, login: 'dora' } });
    const { organizationId } = world;
    const delivery = { organizationId, source: 'github', event: 'check_run', endpointId: app.githubAppId } as const;
    await world.system((ctx) => recordDeliveries(ctx, [{ ...delivery, deliveryKey: key, body }]));
    await processDeliveriesHandler(parts, { organizationId });
    return world.tenant(({ tx }) => tx.deployment.findFirstOrThrow({ orderBy: { number: 'desc' } }));
  };
  const again = await rerun('again', failed.deploymentId);
  expect(again).toMatchObject({ trigger: 'retry', state: 'queued' });
  await world.advance(again.id);
  await look();
  const once = await rerun('once', again.id);
  expect(once).toMatchObject({ trigger: 'retry', state: 'queued' });
  report(1, 'lint', 'success');
  report(1, 'test', 'success');
  await look();
  await world.advance(once.id);
  const { state } = await world.tenant((ctx) => getDeployment(ctx, { deploymentId: once.id as never }));
  expect(state).toBe('building');
});
