import { create } from '@bufbuild/protobuf';
import { HostInfoSchema } from '@fairlead/contract/agent';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { auditEventsOf, type TestWorld, testWorld } from '../testing/index.ts';
import { getServer, openSession, updateAddresses } from './index.ts';

let db: TestDatabase;
let world: TestWorld;
beforeAll(async () => {
  db = await testDatabase();
  world = await testWorld(db.database);
});
afterAll(() => db.drop());

const view = async () => (await world.tenant((ctx) => getServer(ctx, { serverId: world.serverId }))).addresses;

test('addresses are detected when the agent connects', async () => {
  const addresses = ['10.0.0.4', '8.8.4.4', '2A01:4f8:0::7', 'nonsense'];
  const session = { serverId: world.serverId, connection: 'gateway#1', agentVersion: '1', capabilities: [] };
  await world.system((ctx) =>
    openSession(ctx, { ...session, host: create(HostInfoSchema, { addresses }), ip: '::ffff:9.9.9.9' }),
  );
  expect(await view()).toEqual({ detected: ['8.8.4.4', '2a01:4f8::7'], entered: [] });
  await world.system((ctx) => openSession(ctx, { ...session, host: undefined, ip: '9.9.9.9' }));
  expect(await view()).toEqual({ detected: ['9.9.9.9'], entered: [] });
});

test('a member enters others, once each, and returns to the detected ones', async () => {
  const update = (addresses: string[]) =>
    world.tenant((ctx) => updateAddresses(ctx, { serverId: world.serverId, addresses }));
  expect(await update(['10.0.0.4', '2A01::7', '2a01::7'])).toMatchObject({ entered: ['10.0.0.4', '2a01::7'] });
  expect((await auditEventsOf(world)).at(-1)).toMatchObject({
    action: 'server.update_addresses',
    before: { addresses: '' },
    after: { addresses: '10.0.0.4, 2a01::7' },
  });
  expect(await update([])).toEqual({ detected: ['9.9.9.9'], entered: [] });
});
