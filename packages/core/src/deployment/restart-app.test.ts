import { WorkState } from '@fairlead/contract/agent';
import { parseId } from '@fairlead/contract/ids';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { rolloutStatus, type TestWorld, testWorld } from '../testing/index.ts';
import { createDeployment, deploySecrets, getDeployment, restartApp } from './index.ts';

let db: TestDatabase;
let world: TestWorld;

beforeAll(async () => {
  db = await testDatabase();
  world = await testWorld(db.database);
});
afterAll(() => db.drop());

async function liveApp(name: string) {
  const { appId, deploymentId } = await world.createApp(name, { host: `${name}.example.test` });
  await world.advance(deploymentId ?? '');
  await world.finish(deploymentId ?? '');
  return parseId('app', appId);
}
const specOf = async (appId: string) => (await world.desired()).apps.find((spec) => spec.appId === appId);

test('a restart rolls the live release out again, without a build', async () => {
  const appId = await liveApp('kettle');
  const live = (await specOf(appId))?.live;
  const { deploymentId } = await world.tenant((ctx) => restartApp(ctx, { appId }));
  await world.advance(deploymentId);
  const rolling = await world.desired();
  expect(rolling.builds).toEqual([]);
  const spec = rolling.apps.find((each) => each.appId === appId);
  expect(spec?.candidate).toMatchObject({ deploymentId, release: live });
  expect(spec?.live).toEqual(live);

  await world.report({ rollouts: [rolloutStatus(deploymentId, WorkState.SUCCEEDED)] });
  expect(await world.tenant((ctx) => getDeployment(ctx, { deploymentId }))).toMatchObject({
    state: 'live',
    trigger: 'restart',
    isCurrent: true,
  });
  expect((await specOf(appId))?.live).toEqual(live);
});

test('an app that is not live cannot be restarted', async () => {
  const { appId } = await world.createApp('cold');
  await expect(world.tenant((ctx) => restartApp(ctx, { appId: parseId('app', appId) }))).rejects.toMatchObject({
    code: 'app.not_live',
  });
});

test.each([
  ['restart', restartApp],
  ['rollout of secrets', deploySecrets],
])(
  'no %s comes after a deployment that waits or is under way: it would bring back what that replaced',
  async (name, again) => {
    const appId = await liveApp(`pan-${name.replaceAll(' ', '-')}`);
    const restart = () => world.tenant((ctx) => again(ctx, { appId }));
    const { deploymentId } = await world.tenant((ctx) => createDeployment(ctx, { appId }));
    await expect(restart()).rejects.toMatchObject({ code: 'deployment.under_way' });
    await world.advance(deploymentId);
    await expect(restart()).rejects.toMatchObject({ code: 'deployment.under_way' });
    await world.finish(deploymentId);
    expect((await restart()).deploymentId).not.toBe(deploymentId);
  },
);
