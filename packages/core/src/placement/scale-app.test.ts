import { parseId } from '@fairlead/contract/ids';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestWorld, testWorld } from '../testing/index.ts';
import { scaleApp, scaleAppInputSchema } from './index.ts';

let db: TestDatabase;
let world: TestWorld;

beforeAll(async () => {
  db = await testDatabase();
  world = await testWorld(db.database);
});
afterAll(() => db.drop());

test('the server gets the new number of copies immediately', async () => {
  const { appId, deploymentId } = await world.createApp('Scales', { host: 'scales.example.test' });
  await world.advance(deploymentId ?? '');
  await world.finish(deploymentId ?? '');
  const before = await world.desired();
  await world.tenant((ctx) => scaleApp(ctx, { appId: parseId('app', appId), instances: 5 }));
  const after = await world.desired();
  expect(after.version?.number).toBeGreaterThan(before.version?.number ?? 0n);
  expect(after.apps.find((spec) => spec.appId === appId)).toMatchObject({ instances: 5 });
});

test('no more and no fewer than an agent accepts', () => {
  const accepts = (instances: number) =>
    scaleAppInputSchema.safeParse({ appId: 'app_00000000000000000000', instances });
  const refused = [0, -1, 1.5, 65].filter((instances) => accepts(instances).success);
  expect(refused).toEqual([]);
});
