import { parseId } from '@fairlead/contract/ids';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { getConfig, listConfigs, updateConfigInputSchema } from '../config/index.ts';
import { auditEventsOf, type TestWorld, testWorld } from '../testing/index.ts';
import { updateConfig } from './index.ts';

let db: TestDatabase;
let world: TestWorld;

beforeAll(async () => {
  db = await testDatabase();
  world = await testWorld(db.database);
});
afterAll(() => db.drop());

test('traffic settings take effect immediately, as a version of their own, and part by part', async () => {
  const created = await world.createApp('Busy', { host: 'busy.example.test' });
  const appId = parseId('app', created.appId);
  await world.advance(created.deploymentId ?? '');
  await world.finish(created.deploymentId ?? '');
  const update = (traffic: object) =>
    world.tenant((ctx) => updateConfig(ctx, updateConfigInputSchema.parse({ appId, settings: { traffic } })));
  const sent = async () => (await world.desired()).apps.find((spec) => spec.appId === appId)?.traffic;
  expect(await sent()).toBeUndefined();
  const before = await world.desired();

  // An older agent would refuse the whole state for one unknown field.
  await update({ queueLengthMax: 5 });
  expect(await sent()).toBeUndefined();
  const { serverId: id } = world;
  await world.system(({ tx }) => tx.server.update({ where: { id }, data: { capabilities: ['traffic'] } }));
  await update({ queueLengthMax: 8192 });

  const { number } = await update({ queueLengthMax: 0, stickySessions: { kind: 'cookie', name: 'busy' } });
  const state = await world.desired();
  expect(state.version?.number).toBe((before.version?.number ?? 0n) + 3n);
  expect(state.requires).toContain('traffic');
  expect(await sent()).toMatchObject({ queueLengthMax: 0, stickySessions: { by: { case: 'cookie', value: 'busy' } } });

  const config = await world.tenant((ctx) => getConfig(ctx, { appId }));
  expect(config).toMatchObject({ number, notDeployed: [], settings: { traffic: { queueLengthMax: 0 } } });
  const versions = await world.tenant((ctx) => listConfigs(ctx, { appId, limit: 10 }));
  expect(versions.items[0]?.changed).toEqual(['traffic.queueLengthMax', 'traffic.stickySessions']);
  const event = (await auditEventsOf(world)).findLast(({ action }) => action === 'config.update');
  expect(event?.before).toMatchObject({ 'traffic.queueLengthMax': '8192' });
  expect(event?.after).toMatchObject({
    'traffic.queueLengthMax': '0',
    'traffic.stickySessions': '{"kind":"cookie","name":"busy"}',
  });

  await update({});
  expect(await sent()).toBeUndefined();
});
