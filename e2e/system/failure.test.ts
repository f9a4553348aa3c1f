// Tests of deployments that cannot work: each fails with a code and a message that says what to do, and the live
// release is unharmed.
import type { DeploymentDetail } from '@fairlead/core/deployment';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePort } from '../../tools/lib/free-ports.ts';
import { waitFor } from '../../tools/lib/wait.ts';
import { crashingApp, EXITING_APP, listeningOn, NEVER_LISTENING_APP, respondingApp } from './harness/apps.ts';
import { System } from './harness/system.ts';

let system: System;

beforeAll(async () => {
  system = await System.start();
});
afterAll(() => system?.stop());

function expectFailure(deployment: DeploymentDetail, code: string): string {
  expect(deployment).toMatchObject({ state: 'failed', failureCode: code });
  const message = deployment.failureMessage ?? '';
  // A complete sentence, not a code or a stack.
  expect(message).toMatch(/^[A-Z`].{20,}\.$/s);
  expect(message).not.toMatch(/\bat .+:\d+:\d+|Error:|undefined|panicked/);
  return message;
}

// Runs concurrently: an app that never listens uses its whole timeout.
test.concurrent('a repository that does not exist', async () => {
  const url = (await system.repositories.create('some', respondingApp('x'))).url.replace('/some.git', '/none.git');
  const deployment = await system.createApp('nowhere', { url });
  expectFailure(deployment, 'build.clone_failed');
});

test.concurrent('an app that never listens gets a message with the port to listen on', async () => {
  const repository = await system.repositories.create('silent', NEVER_LISTENING_APP);
  const message = expectFailure(await system.createApp('silent', repository), 'rollout.not_listening');
  expect(message).toContain('PORT');
});

test.concurrent('a program that exits gets the advice to run it as a worker or a job', async () => {
  const repository = await system.repositories.create('job', EXITING_APP);
  const message = expectFailure(await system.createApp('job', repository), 'rollout.ended');
  expect(message).toContain('Settings → Runtime → Workers');
  expect(message).toContain('start command `node job.js`');
});

test.concurrent('an app that listens on another port is served there, and the log says so', async () => {
  const port = await freePort();
  const repository = await system.repositories.create('elsewhere', listeningOn(port));
  const deployment = await system.createApp('elsewhere', repository);
  expect(deployment).toMatchObject({ state: 'live' });
  const told = async () =>
    (await system.log(deployment.id)).some((line) => line.includes(`listens on port ${port} instead of PORT=3000`));
  await waitFor(told, { what: 'the port in the log', timeoutMs: 10_000 });
});

test.concurrent('an app that crashes in a loop fails with its output stored, and the live release stays live', async () => {
  const repository = await system.repositories.create('fragile', respondingApp('steady'));
  const good = await system.createApp('fragile', repository);
  expect(good).toMatchObject({ state: 'live' });
  const traffic = system.traffic('fragile', '/');

  await repository.commit('Crash at once', crashingApp('no rope left'));
  const deployment = await system.deploy(good.appId);
  expect(expectFailure(deployment, 'rollout.crash_loop')).toContain('`no rope left`');
  // Lines travel separately from the report that ends the deployment, and may arrive later.
  const kept = async () => (await system.log(deployment.id)).some((line) => line.includes('no rope left'));
  await waitFor(kept, { what: "the app's last words in the log", timeoutMs: 10_000 });

  await traffic.more(20);
  expect((await traffic.stop()).failures).toEqual([]);
  expect(await system.get('fragile')).toEqual({ status: 200, body: 'steady' });
});
