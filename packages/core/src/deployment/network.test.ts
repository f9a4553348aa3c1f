// Apps with private network access or server ports: only agents that know them get their releases.
import { parseId } from '@fairlead/contract/ids';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { updateConfig } from '../app/index.ts';
import { auditEventsOf, type TestWorld, testWorld } from '../testing/index.ts';
import { createDeployment, getDeployment } from './index.ts';

let db: TestDatabase;
let world: TestWorld;

beforeAll(async () => {
  db = await testDatabase();
  world = await testWorld(db.database);
});
afterAll(() => db.drop());

const can = (capabilities: string[]) => world.system(({ tx }) => tx.server.updateMany({ data: { capabilities } }));

test.each([
  ['private network access', { privateNetwork: true }],
  ['server ports', { serverPorts: ['127.0.0.1:5432'] }],
])('an app with %s is not sent to an agent that does not know them', async (name, settings) => {
  const made = await world.createApp(name, { deployNow: false });
  const appId = parseId('app', made.appId);
  const deploy = async () => {
    const { deploymentId } = await world.tenant((ctx) => createDeployment(ctx, { appId }));
    await world.advance(deploymentId);
    return world.tenant((ctx) => getDeployment(ctx, { deploymentId: parseId('dep', deploymentId) }));
  };
  await can([]);
  expect(await deploy()).toMatchObject({ state: 'building' });
  await world.tenant((ctx) => updateConfig(ctx, { appId, settings }));
  const [first] = await world.system(({ tx }) => tx.deployment.findMany({ where: { appId, state: 'building' } }));
  await world.finish(first?.id ?? '');

  const refused = await deploy();
  expect(refused).toMatchObject({ state: 'failed', failureCode: 'deployment.capability_missing' });
  expect(refused.failureMessage).toContain('lacks “network”');
  await can(['network', 'build.plan']);
  expect(await deploy()).toMatchObject({ state: 'building' });
  const event = (await auditEventsOf(world)).findLast(({ action }) => action === 'config.update');
  const after = Object.fromEntries(Object.entries(settings).map(([key, value]) => [key, JSON.stringify(value)]));
  expect(event?.after).toMatchObject(after);
});
