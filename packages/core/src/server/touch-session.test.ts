import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestWorld, testWorld } from '../testing/index.ts';
import { touchSession } from './index.ts';

let db: TestDatabase;
let world: TestWorld;

beforeAll(async () => {
  db = await testDatabase();
  world = await testWorld(db.database);
});
afterAll(() => db.drop());

test('an answered ping is stored, whatever time the agent names', async () => {
  const { serverId } = world;
  const connection = 'gateway#1';
  await world.system(({ tx }) =>
    tx.server.updateMany({ where: { id: serverId }, data: { connectedGateway: connection } }),
  );
  for (const sign of [1, -1]) {
    // The greatest number of 64 bits.
    const clockOffsetUs = sign * 2 ** 64;
    const ping = { serverId, connection, clockOffsetMs: clockOffsetUs / 1000, clockOffsetUs, clockUncertaintyUs: 500 };
    await world.system((ctx) => touchSession(ctx, ping));
    const { clockOffsetUs: stored } = await world.system(({ tx }) =>
      tx.server.findUniqueOrThrow({ where: { id: serverId }, select: { clockOffsetUs: true } }),
    );
    expect(stored).toBe(BigInt(sign * Number.MAX_SAFE_INTEGER));
  }
});
