// Tests of a deleted app on a real server: visitors get an error, nothing of it runs, and a restore brings it back with the
// data of its volume.
import { existsSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { waitFor } from '../../tools/lib/wait.ts';
import { volumeApp } from './harness/apps.ts';
import { System } from './harness/system.ts';

const MINUTE = 60_000;
const STEP = { timeoutMs: MINUTE, everyMs: 250 };

let system: System;

beforeAll(async () => {
  system = await System.start();
});
afterAll(() => system?.stop());

const answers = (status: number) =>
  waitFor(async () => (await system.get('notes')).status === status, { what: `the status ${status}`, ...STEP });
const pidOf = async () => (await system.app('notes')).instances[0]?.pid ?? expect.fail('no instance');
const serving = async (text: string) => {
  await answers(200);
  expect((await system.get('notes')).body).toBe(text);
};

test('a deleted app stops, and a restore serves its live release with its volume again', async () => {
  const repository = await system.repositories.create('notes', volumeApp('one'));
  const appId = await system.createAppWith('notes', repository, { volumes: [{ name: 'notes', path: '/data' }] });
  expect(await system.deploy(appId)).toMatchObject({ state: 'live', failureMessage: null });
  expect((await system.get('notes', '/write?remember')).body).toBe('one: remember');
  const pid = await waitFor(pidOf, { what: 'an instance', ...STEP });

  await system.product.verbs.deleteApp({ appId, confirmName: 'notes' });
  await answers(503);
  await waitFor(() => !existsSync(`/proc/${pid}`), { what: 'the end of the instance', ...STEP });
  await expect(system.app('notes')).rejects.toMatchObject({ code: 'app.not_found' });
  await expect(system.product.verbs.createDeployment({ appId })).rejects.toMatchObject({ code: 'app.not_found' });

  // The agent starts anew with a state that does not have the app.
  await system.stopAgent();
  await system.startAgent();
  expect((await system.get('notes')).status).toBe(503);

  await system.product.verbs.restoreApp({ appId });
  await serving('one: remember');
  expect(await system.app('notes')).toMatchObject({ liveRelease: { number: 1 }, lastDeployment: { number: 1 } });

  await repository.commit('Second version', volumeApp('two'));
  expect(await system.deploy(appId)).toMatchObject({ state: 'live', failureMessage: null });
  await serving('two: remember');

  await system.product.verbs.deleteApp({ appId, confirmName: 'notes' });
  await system.product.verbs.purgeApp({ appId });
  const again = await system.createApp('notes', repository);
  expect(again).toMatchObject({ state: 'live' });
});
