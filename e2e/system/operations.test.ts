// Tests of operations from the dashboard's API to a real agent and back: rollouts, scaling, sleep, volumes, commands,
// builds and logs. Each asserts what the API tells the user about it.
import type { AppId } from '@fairlead/contract/ids';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ADA } from '../../tools/lib/dashboard-client.ts';
import { waitFor } from '../../tools/lib/wait.ts';
import {
  brokenApp,
  buildCountingApp,
  holdingApp,
  loggingApp,
  migratingApp,
  respondingApp,
  stampedApp,
  volumeApp,
} from './harness/apps.ts';
import { Dashboard } from './harness/dashboard.ts';
import { type Gates, openGates } from './harness/gates.ts';
import { System } from './harness/system.ts';

const MINUTE = 60_000;
const GRACE = { name: 'Grace Example', email: 'grace@example.com', password: 'a sail fills with wind' };

let system: System;
let dashboard: Dashboard;
let gates: Gates;

beforeAll(async () => {
  gates = await openGates();
  system = await System.start({ dashboard: true });
  dashboard = await Dashboard.open(system);
});
afterAll(async () => {
  await system?.stop();
  await gates?.close();
});

const bodyOf = async (slug: string, path = '/') => (await system.get(slug, path)).body;

test.concurrent('a canary with failing requests is aborted with its figures, and the old release gets all requests', async () => {
  const repository = await system.repositories.create('canary', respondingApp('good'));
  const appId = await dashboard.createApp('canary', repository, {
    settings: {
      rollout: {
        kind: 'canary',
        stepPercents: [50],
        // The abort has to come before the end of the step.
        stepDurationMs: 60 * MINUTE,
        errorIncreasePermilleMax: 10,
        requestsMin: 5,
      },
    },
  });
  expect(await dashboard.deploy({ appId })).toMatchObject({ state: 'live', failureMessage: null });

  await repository.commit('Lose the database', brokenApp('cannot reach the database'));
  const { deploymentId } = await dashboard.owner.deployment.create.mutate({ appId });
  const trying = await dashboard.deploymentWith(
    deploymentId,
    ({ steps }) => steps.some(({ name, state }) => name === 'canary' && state === 'running'),
    'the canary',
  );
  expect(trying.waiting?.sentence).toBe('Canary: the new release gets a percentage of the requests first.');
  const failed = await waitFor(
    async () => {
      // Requests decide about a canary, so they continue until the end.
      await Promise.all(Array.from({ length: 4 }, () => system.get('canary')));
      const deployment = await dashboard.owner.deployment.get.query({ deploymentId });
      return deployment.finishedAt !== null && deployment;
    },
    { what: 'the abort', timeoutMs: MINUTE, everyMs: 250 },
  );
  expect(failed).toMatchObject({ state: 'failed', failureCode: 'rollout.canary_failed', waiting: null });
  expect(failed.failureMessage).toMatch(
    /^At 50 % of the requests, \d+ of \d+ requests to the new release failed \(\d+\.\d %\), against 0 of \d+ to the old one \(0\.0 %\); 1\.0 % more are allowed\. The old release has all requests again; see the app's logs for why\.$/,
  );
  const stateOf = (step: string) => failed.steps.find(({ name }) => name === step)?.state;
  expect([stateOf('health'), stateOf('canary'), stateOf('switch')]).toEqual(['done', 'failed', 'skipped']);
  const log = await dashboard.logWith(deploymentId, failed.failureMessage ?? '');
  expect(log.some((line) => line.startsWith('Sending 50 % of the requests to the new instances'))).toBe(true);

  const app = await dashboard.owner.app.get.query({ slug: 'canary' });
  expect(app).toMatchObject({ status: 'healthy', liveRelease: { number: 1 }, lastDeployment: { state: 'failed' } });
  const answers = await Promise.all(Array.from({ length: 20 }, () => system.get('canary')));
  expect(answers.every(({ status, body }) => status === 200 && body === 'good')).toBe(true);
  // The message refers to the logs: they still have the lines of the release that was withdrawn.
  const { lines } = await dashboard.owner.log.search.query({ appId, text: 'cannot reach the database' });
  expect(lines.length).toBeGreaterThan(0);
  expect(lines.every(({ releaseId }) => releaseId !== app.liveRelease?.id)).toBe(true);
});

/** Waits until the app's page shows exactly these instances, all healthy. */
const instances = (slug: string, count: number) =>
  dashboard.appWith(
    slug,
    ({ instances: all }) => all.length === count && all.every(({ state }) => state === 'healthy'),
    `${count} healthy instances`,
  );

test.concurrent('an app scales up under load, down after a quiet minute, and to its minimum when idle', async ({
  onTestFinished,
}) => {
  const repository = await system.repositories.create('scaled', holdingApp(gates));
  const appId = await dashboard.createApp('scaled', repository, {
    settings: {
      autoscaling: { instancesMin: 1, instancesMax: 3, inFlightTarget: 1, idleTimeoutMs: 1000 },
      traffic: { responseTimeoutMs: 10 * MINUTE },
    },
  });
  expect(await dashboard.deploy({ appId })).toMatchObject({ state: 'live', failureMessage: null });
  const hold = (name: string) => ({ name, response: system.get('scaled', `/hold/${name}`, 5 * MINUTE) });
  const first = hold('first');
  // On the first instance, which is the last to go.
  await gates.arrived(first.name);
  const others = ['second', 'third'].map(hold);
  onTestFinished(() => {
    for (const { name } of [first, ...others]) gates.open(name);
  });
  expect(await instances('scaled', 3)).toMatchObject({ status: 'healthy' });

  for (const { name } of others) gates.open(name);
  for (const { response } of others) expect(await response).toEqual({ status: 200, body: 'held' });
  // One request in flight would fill one instance to its target, so a second one stays.
  expect(await instances('scaled', 2)).toMatchObject({ status: 'healthy' });

  gates.open(first.name);
  expect(await first.response).toEqual({ status: 200, body: 'held' });
  expect(await instances('scaled', 1)).toMatchObject({ status: 'healthy', liveRelease: { number: 1 } });
});

test.concurrent('an idle app sleeps, and its page says so; the next request wakes it, also after a restart', async () => {
  const repository = await system.repositories.create('sleeper', respondingApp('one'));
  const appId = await dashboard.createApp('sleeper', repository, {
    settings: { autoscaling: { instancesMin: 0, instancesMax: 2, idleTimeoutMs: 1000 } },
  });
  expect(await dashboard.deploy({ appId })).toMatchObject({ state: 'live', failureMessage: null });
  const asleep = () =>
    dashboard.appWith('sleeper', ({ instances: all }) => all.every(({ state }) => state === 'asleep'), 'sleep');
  const sleeping = await asleep();
  expect(sleeping.status).toBe('healthy');
  expect(sleeping.instances).toMatchObject([
    { pid: null, detail: 'Asleep: no request for 1 s. The next request wakes it.' },
  ]);

  expect(await system.get('sleeper', '/', MINUTE)).toEqual({ status: 200, body: 'one' });
  const woken = await waitFor(
    async () => {
      // Keeps it awake until its page shows it.
      await system.get('sleeper', '/', MINUTE);
      const { instances: all } = await dashboard.owner.app.get.query({ slug: 'sleeper' });
      return all.find(({ state }) => state === 'healthy');
    },
    { what: 'the woken instance', timeoutMs: MINUTE, everyMs: 250 },
  );
  expect(woken.detail).toMatch(/^Woken by a request in \d+\.\d\d s\.$/);

  await asleep();
  const restart = await dashboard.owner.deployment.restart.mutate({ appId });
  expect(await dashboard.ended(restart.deploymentId)).toMatchObject({ state: 'live', failureMessage: null });
  await asleep();
  expect(await system.get('sleeper', '/', MINUTE)).toEqual({ status: 200, body: 'one' });
});

test.concurrent('a release command runs once before the instances; its failure is shown and leaves the live release', async () => {
  const repository = await system.repositories.create('migrating', migratingApp('one', gates));
  const appId = await dashboard.createApp('migrating', repository, {
    settings: {
      releaseCommand: { command: ['node', 'release.js'] },
      volumes: [{ name: 'data', path: '/data' }],
    },
  });
  const { deploymentId } = await dashboard.owner.deployment.create.mutate({ appId });
  await gates.arrived('migrate');
  const running = await dashboard.deploymentWith(
    deploymentId,
    ({ waiting }) => waiting?.reason === 'release_command',
    'the release command',
  );
  expect(running.waiting?.sentence).toBe('The release command is running. The new instances start when it succeeds.');
  expect((await dashboard.owner.app.get.query({ slug: 'migrating' })).instances).toEqual([]);
  gates.open('migrate');
  expect(await dashboard.ended(deploymentId)).toMatchObject({ state: 'live', failureMessage: null });
  expect(await bodyOf('migrating')).toBe('one: migrated one\n');

  await repository.commit('Fail', { 'release.js': "console.error('no such column: price');\nprocess.exit(7);\n" });
  const failed = await dashboard.deploy({ appId });
  expect(failed).toMatchObject({
    state: 'failed',
    failureCode: 'rollout.command_failed',
    failureMessage:
      'The release command failed. It ended with exit code 7. Live traffic is unaffected. Its output is in the log.',
  });
  const stateOf = (step: string) => failed.steps.find(({ name }) => name === step)?.state;
  expect([stateOf('release'), stateOf('start')]).toEqual(['failed', 'skipped']);
  await dashboard.logWith(failed.id, 'no such column: price');
  expect(await bodyOf('migrating')).toBe('one: migrated one\n');

  await repository.commit('Repair', migratingApp('three', gates));
  expect(await dashboard.deploy({ appId })).toMatchObject({ state: 'live', failureMessage: null });
  expect(await bodyOf('migrating')).toBe('three: migrated one\nmigrated three\n');
});

test.concurrent('a redeployment without cache builds from scratch, and the next one has only its cache', async () => {
  const repository = await system.repositories.create('cached', buildCountingApp());
  const appId = await dashboard.createApp('cached', repository);
  const { id: deploymentId, commitHash } = await dashboard.deploy({ appId });
  expect(await bodyOf('cached')).toBe('build 1');
  const redeploy = async (withoutCache: boolean) => {
    const again = await dashboard.owner.deployment.redeploy.mutate({ deploymentId, withoutCache });
    const { state, trigger, commitHash: commit, ...rest } = await dashboard.ended(again.deploymentId);
    expect([state, trigger, commit, rest.withoutCache]).toEqual(['live', 'redeploy', commitHash, withoutCache]);
    return bodyOf('cached');
  };
  expect(await redeploy(false)).toBe('build 2');
  expect(await redeploy(true)).toBe('build 1');
  expect(await redeploy(false)).toBe('build 2');
});

/** Waits until a search finds `count` lines: an app's output arrives a moment after its response. */
function searched(appId: AppId, filter: { readonly text: string; readonly regex?: boolean }, count: number) {
  return waitFor(
    async () => {
      const result = await dashboard.owner.log.search.query({ appId, ...filter });
      return result.lines.length >= count && result;
    },
    { what: `${count} lines with ${filter.text}`, timeoutMs: MINUTE, everyMs: 250 },
  );
}

test.concurrent('logs are searched by text, expression, level and number, and an impossible search says why', async () => {
  const repository = await system.repositories.create('logging', loggingApp());
  const appId = await dashboard.createApp('logging', repository);
  expect(await dashboard.deploy({ appId })).toMatchObject({ state: 'live', failureMessage: null });
  for (const order of ['1', '2', '3']) await bodyOf('logging', `/order/${order}`);

  const { search } = dashboard.owner.log;
  const all = await searched(appId, { text: 'order \\d (paid|refused)', regex: true }, 3);
  const said = ({ lines }: { readonly lines: readonly { readonly text: string; readonly level: string }[] }) =>
    lines.map(({ text, level }) => `${level}: ${(JSON.parse(text) as { msg: string }).msg}`);
  expect(said(all)).toEqual(['info: order 1 paid', 'error: order 2 refused', 'info: order 3 paid']);
  expect([all.more, all.failures]).toEqual([false, []]);
  expect(all.lines[0]).toMatchObject({ process: 'web', stream: 'stdout', serverId: await system.serverId() });

  expect(said(await search.query({ appId, text: 'REFUSED' }))).toEqual(['error: order 2 refused']);
  expect(said(await search.query({ appId, text: 'order', level: 'warn' }))).toEqual(['error: order 2 refused']);
  const newest = await search.query({ appId, text: 'order', limit: 1 });
  expect([said(newest), newest.more]).toEqual([['info: order 3 paid'], true]);
  const from = all.lines.at(-1)?.unixMs ?? 0;
  expect(said(await search.query({ appId, text: 'order', fromUnixMs: from })).at(-1)).toBe('info: order 3 paid');
  expect(await search.query({ appId, text: 'order 4' })).toEqual({ lines: [], more: false, failures: [] });
  expect((await search.query({ appId, text: 'order (', regex: true })).failures).toEqual([
    { serverId: await system.serverId(), sentence: expect.stringMatching(/expression/) },
  ]);
});

test.concurrent('a promoted release runs in another environment without a build, with the settings of that one', async () => {
  const { owner } = dashboard;
  const repository = await system.repositories.create('shop', stampedApp());
  const appId = await dashboard.createApp('shop', repository, { settings: { variables: { STAGE: 'production' } } });
  const built = await dashboard.deploy({ appId });
  expect(built).toMatchObject({ state: 'live', failureMessage: null });
  const [stamp] = (await bodyOf('shop')).split(' ');

  const { environmentId } = await owner.app.addEnvironment.mutate({
    appId,
    environment: { kind: 'new', name: 'Staging' },
    serverIds: [await system.serverId()],
    domain: { host: 'shop-staging.localhost' },
    firstDeploy: 'none',
  });
  await owner.config.update.mutate({ appId, environmentId, settings: { variables: { STAGE: 'staging' } } });
  const releaseId = built.releaseId ?? expect.fail('the deployment has no release');
  const { deploymentId } = await owner.deployment.promote.mutate({ environmentId, releaseId });
  const promoted = await dashboard.ended(deploymentId);
  expect(promoted).toMatchObject({
    state: 'live',
    trigger: 'promote',
    environmentName: 'Staging',
    commitHash: built.commitHash,
    failureMessage: null,
  });
  const stateOf = (step: string) => promoted.steps.find(({ name }) => name === step)?.state;
  expect(['clone', 'build', 'pack', 'start', 'health'].map(stateOf)).toEqual([
    ...['skipped', 'skipped', 'skipped'],
    ...['done', 'done'],
  ]);
  expect([await bodyOf('shop'), await bodyOf('shop-staging')]).toEqual([`${stamp} production`, `${stamp} staging`]);
  const digests = await Promise.all(
    [built.environmentId, environmentId].map(async (each) => {
      const { items } = await owner.release.list.query({ appId, environmentId: each });
      return items.map(({ artifactDigest, isLive }) => ({ artifactDigest, isLive }));
    }),
  );
  expect(digests[0]).toHaveLength(1);
  expect(digests[1]).toEqual(digests[0]);
  await expect(owner.deployment.promote.mutate({ environmentId: built.environmentId, releaseId })).rejects.toThrow(
    'This release already belongs to this environment. Roll back to it instead.',
  );
});

test.concurrent('a deployment to a protected environment waits until another member approves or refuses it', async () => {
  const { owner } = dashboard;
  const grace = await dashboard.addMember(GRACE, 'developer');
  const repository = await system.repositories.create('guarded', respondingApp('one'));
  const { environmentId } = await owner.environment.create.mutate({ name: 'Guarded', protected: true });
  const appId = await dashboard.createApp('guarded', repository, { environmentId });
  const place = { appId, environmentId };

  const { deploymentId } = await grace.deployment.create.mutate(place);
  const waiting = await owner.deployment.get.query({ deploymentId });
  expect(waiting).toMatchObject({
    state: 'queued',
    waiting: { reason: 'approval', sentence: "Waiting for another member's approval." },
    approval: { state: 'pending', isOwn: false, decidedByName: null },
    requestedByName: GRACE.name,
  });
  expect((await grace.deployment.get.query({ deploymentId })).approval?.isOwn).toBe(true);
  await expect(grace.deployment.approve.mutate({ deploymentId })).rejects.toThrow(
    'Your role or API token does not allow this.',
  );
  await expect(grace.config.update.mutate({ ...place, settings: { variables: { DEBUG: '1' } } })).rejects.toThrow(
    'This environment is protected. Ask a member who may approve its deployments to make this change.',
  );
  await owner.deployment.approve.mutate({ deploymentId });
  expect(await dashboard.ended(deploymentId)).toMatchObject({
    state: 'live',
    failureMessage: null,
    approval: { state: 'approved', decidedByName: ADA.name },
    requestedByName: GRACE.name,
  });
  expect(await bodyOf('guarded')).toBe('one');

  const refused = await grace.deployment.create.mutate(place);
  await owner.deployment.refuse.mutate(refused);
  expect(await dashboard.ended(refused.deploymentId)).toMatchObject({
    state: 'cancelled',
    releaseId: null,
    approval: { state: 'refused', decidedByName: ADA.name },
  });
  const own = await owner.deployment.create.mutate(place);
  await expect(owner.deployment.approve.mutate(own)).rejects.toThrow(
    'You asked for this deployment yourself. Another member has to approve it.',
  );
  await owner.deployment.cancel.mutate(own);
  const withdrawn = await dashboard.ended(own.deploymentId);
  expect([withdrawn.state, withdrawn.approval?.state]).toEqual(['cancelled', 'withdrawn']);
  const { items } = await owner.audit.list.query({ action: 'deployment', search: deploymentId });
  expect(items.map(({ action, actor }) => [action, actor.name])).toContainEqual(['deployment.approve', ADA.name]);
});

// Alone, because it kills the agent: at its next start it measures volumes.
test('a volume keeps what one release wrote for the next, and shows its size', async () => {
  const repository = await system.repositories.create('notes', volumeApp('one'));
  const appId = await dashboard.createApp('notes', repository, {
    settings: { volumes: [{ name: 'notes', path: '/data' }] },
  });
  expect(await dashboard.deploy({ appId })).toMatchObject({ state: 'live', failureMessage: null });
  expect(await bodyOf('notes', '/write?remember')).toBe('one: remember');

  await repository.commit('Second version', volumeApp('two'));
  expect(await dashboard.deploy({ appId })).toMatchObject({ state: 'live', failureMessage: null });
  expect(await bodyOf('notes')).toBe('two: remember');
  const { items } = await dashboard.owner.volume.list.query({ appId });
  expect(items).toMatchObject([{ name: 'notes', inUse: true, isLeft: false, deleteAt: null }]);

  process.kill(system.agentPid ?? expect.fail('no agent'), 'SIGKILL');
  const measured = await waitFor(
    async () => (await dashboard.owner.volume.list.query({ appId })).items.find(({ usedBytes }) => usedBytes > 0),
    { what: 'the size of the volume', timeoutMs: MINUTE, everyMs: 500 },
  );
  expect(measured.used).toEqual([{ serverId: await system.serverId(), usedBytes: measured.usedBytes }]);
  expect(await bodyOf('notes')).toBe('two: remember');
});
