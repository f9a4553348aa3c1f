// Tests of the deployment path on real processes: clone over HTTP, build, health check, switch, a bad commit, rollback
// and cancel.
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { waitFor } from '../../tools/lib/wait.ts';
import { endlessBuild, failingBuild, respondingApp, socketApp } from './harness/apps.ts';
import { System } from './harness/system.ts';

let system: System;

beforeAll(async () => {
  system = await System.start();
});
afterAll(() => system?.stop());

test('the sample app is cloned by its URL, pinned to the commit and served over HTTPS', async () => {
  const repository = await system.repositories.createExample('hello', 'hello-node');
  const commit = await repository.commit('Say hello again', {});
  const deployment = await system.createApp('hello', repository, '/healthz');
  expect(deployment).toMatchObject({
    state: 'live',
    failureMessage: null,
    commitHash: commit,
    commitSubject: 'Say hello again',
  });
  expect(deployment.steps.filter((step) => step.state !== 'done').map((step) => step.name)).toEqual([]);

  const page = await system.get('hello');
  expect(page.status).toBe(200);
  expect(page.body).toContain('It runs.');
});

test("missing names from the repository's .env.example are reported until they are set", async () => {
  const files = { ...respondingApp('expects'), '.env.example': 'API_TOKEN=example\n# the port is ours\nPORT=3000\n' };
  const repository = await system.repositories.create('expects', files);
  const first = await system.createApp('expects', repository);
  expect(first).toMatchObject({ state: 'live', missingNames: ['API_TOKEN'] });
  const { appId } = first;
  expect(await system.product.verbs.listSecrets({ appId })).toMatchObject({
    expectedVariables: ['API_TOKEN'],
    missingNames: ['API_TOKEN'],
  });
  await system.setSecrets(appId, [{ name: 'API_TOKEN', value: 'a real one' }]);
  expect(await system.deploy(appId)).toMatchObject({ state: 'live', missingNames: [] });
});

test('an instance runs as an unprivileged user of its own', async () => {
  const app = await system.app('hello');
  const [instance] = app.instances;
  expect(instance).toMatchObject({ state: 'healthy' });
  const status = readFileSync(`/proc/${instance?.pid}/status`, 'utf8');
  const uids = /^Uid:\t(\d+)\t(\d+)\t(\d+)\t(\d+)$/m.exec(status)?.slice(1).map(Number) ?? [];
  expect(new Set(uids).size).toBe(1);
  expect(uids[0]).toBeGreaterThan(0);
});

test('a bad commit fails with its log stored while the old release stays live; a rollback restores an older release', async () => {
  const repository = await system.repositories.create('changing', respondingApp('one'));
  const first = await system.createApp('changing', repository);
  expect(first).toMatchObject({ state: 'live' });
  expect(await system.get('changing')).toEqual({ status: 200, body: 'one' });

  await repository.commit('Second version', respondingApp('two'));
  const second = await system.deploy(first.appId);
  expect(second).toMatchObject({ state: 'live', commitSubject: 'Second version' });
  expect(await system.get('changing')).toEqual({ status: 200, body: 'two' });

  await repository.commit('Break the build', failingBuild('the rope chafes'));
  const bad = await system.deploy(first.appId);
  expect(bad).toMatchObject({ state: 'failed', failureCode: 'build.command_failed' });
  expect(bad.failureMessage).toMatch(/^[A-Z`].*\.$/s);
  await waitFor(async () => (await system.log(bad.id)).some((line) => line.includes('the rope chafes')), {
    what: 'the line of the failing build in the stored log',
    timeoutMs: 10_000,
  });
  expect(await system.get('changing')).toEqual({ status: 200, body: 'two' });

  const releaseId = first.releaseId;
  if (releaseId === null) throw new Error('a live deployment has a release');
  const { deploymentId } = await system.product.verbs.rollbackApp({ appId: first.appId, releaseId });
  expect(await system.waitForDeployment(deploymentId)).toMatchObject({
    state: 'live',
    trigger: 'rollback',
    commitSubject: 'First version',
  });
  expect(await system.get('changing')).toEqual({ status: 200, body: 'one' });
});

test('a deployment under traffic answers every request', async () => {
  const repository = await system.repositories.create('busy', respondingApp('before'));
  const { appId } = await system.createApp('busy', repository);
  const traffic = system.traffic('busy', '/');
  await traffic.more(50);
  await repository.commit('Next version', respondingApp('after'));
  expect(await system.deploy(appId)).toMatchObject({ state: 'live' });
  await traffic.more(50);
  expect(await system.get('busy')).toEqual({ status: 200, body: 'after' });
  expect((await traffic.stop()).failures).toEqual([]);
});

test('an app on a Unix socket is reached there without a port, and a deployment of it under traffic answers every request', async () => {
  const repository = await system.repositories.create('unix', socketApp('before'));
  const { appId, state } = await system.createApp('unix', repository);
  expect(state).toBe('live');
  expect((await system.app('unix')).instances).toMatchObject([{ state: 'healthy', port: null }]);
  const traffic = system.traffic('unix', '/');
  await traffic.more(50);
  await repository.commit('Next version', socketApp('after'));
  expect(await system.deploy(appId)).toMatchObject({ state: 'live' });
  await traffic.more(50);
  expect(await system.get('unix')).toEqual({ status: 200, body: 'after' });
  expect((await traffic.stop()).failures).toEqual([]);
});

test('a cancelled deployment ends its build', async () => {
  const repository = await system.repositories.create('endless', endlessBuild('only ten minutes more'));
  const created = await system.product.verbs.createApp(
    {
      name: 'endless',
      source: { kind: 'git', repositoryUrl: repository.url, branch: 'main' },
      serverIds: [await system.serverId()],
    },
    { controlHost: '', publicHost: '' },
  );
  const deploymentId = created.deploymentId;
  if (deploymentId === null) throw new Error('the app was made without a deployment');
  await waitFor(async () => (await system.log(deploymentId)).some((line) => line.includes('only ten minutes more')), {
    what: 'the build to run',
    timeoutMs: 30_000,
  });
  await system.product.verbs.cancelDeployment({ deploymentId });
  expect(await system.waitForDeployment(deploymentId)).toMatchObject({ state: 'cancelled' });
});
