// Network access of a waiting release: it never restores access that was closed meanwhile.
import { parseId } from '@fairlead/contract/ids';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { updateConfig } from '../app/index.ts';
import { type TestWorld, testWorld } from '../testing/index.ts';
import { createDeployment, deploySecrets, getDeployment, rollbackApp } from './index.ts';

let db: TestDatabase;
let world: TestWorld;

beforeAll(async () => {
  db = await testDatabase();
  world = await testWorld(db.database);
  await world.system(({ tx }) => tx.server.updateMany({ data: { capabilities: ['network', 'build.plan'] } }));
});
afterAll(() => db.drop());

const ports = (...numbers: number[]) => ({ serverPorts: numbers.map((port) => `127.0.0.1:${port}`) });

/** Makes an app with a live release that opens fewer addresses than the one before. */
async function narrowedApp(name: string) {
  const made = await world.createApp(name, { deployNow: false });
  const appId = parseId('app', made.appId);
  const set = async (settings: object) => {
    await world.tenant((ctx) => updateConfig(ctx, { appId, settings }));
    world.clock.forward(1000);
  };
  const get = (deploymentId: string) =>
    world.tenant((ctx) => getDeployment(ctx, { deploymentId: parseId('dep', deploymentId) }));
  const goLive = async () => {
    const { deploymentId } = await world.tenant((ctx) => createDeployment(ctx, { appId }));
    await world.advance(deploymentId);
    await world.finish(deploymentId);
    return parseId('rel', (await get(deploymentId)).releaseId ?? '');
  };
  await set(ports(1, 2));
  const releaseId = await goLive();
  await set(ports(1));
  await goLive();
  const advance = async (deploymentId: string) => {
    await world.advance(deploymentId);
    return get(deploymentId);
  };
  const rollBack = async () => {
    const { deploymentId } = await world.tenant((ctx) => rollbackApp(ctx, { appId, releaseId }));
    world.clock.forward(1000);
    return deploymentId;
  };
  return { appId, set, rollBack, advance };
}

test('a waiting release fails if its network access is closed meanwhile, and not if it is requested again', async () => {
  const { set, rollBack, advance } = await narrowedApp('closed meanwhile');
  await set(ports(1, 2));
  const waiting = await rollBack();
  await set(ports(1));
  expect(await advance(waiting)).toMatchObject({ state: 'failed', failureCode: 'deployment.network_closed' });
  expect(await advance(await rollBack())).toMatchObject({ state: 'rolling_out' });
});

test('other changes of the settings and wider ones stop no release that waits', async () => {
  const { set, rollBack, advance } = await narrowedApp('changed meanwhile');
  const waiting = await rollBack();
  await set({ stopTimeoutMs: 5000 });
  await set(ports(1, 3));
  expect(await advance(waiting)).toMatchObject({ state: 'rolling_out' });
});

test('newer secrets that wait restore no network access that is closed meanwhile', async () => {
  const { appId, set, advance } = await narrowedApp('secrets meanwhile');
  const { deploymentId } = await world.tenant((ctx) => deploySecrets(ctx, { appId }));
  world.clock.forward(1000);
  await set(ports());
  expect(await advance(deploymentId)).toMatchObject({ state: 'failed', failureCode: 'deployment.network_closed' });
});
