import { newId } from '@fairlead/contract/ids';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestWorld, testWorld } from '../testing/index.ts';
import { claimCalls, closeStream, openStream, pruneRequests, touchStreams } from './index.ts';

let db: TestDatabase;
let world: TestWorld;
beforeAll(async () => {
  db = await testDatabase();
  world = await testWorld(db.database);
});
afterAll(() => db.drop());

const claim = (key: string, calls: number, callsMax = 10) =>
  world.system((ctx) => claimCalls(ctx, { key, calls, callsMax, windowMs: 60_000 }));
const open = (userId: string, organizationId = world.organizationId, limits = { personMax: 3, organizationMax: 5 }) => {
  const streamId = newId('evt');
  return world.system((ctx) => openStream(ctx, { streamId, userId, organizationId }, limits)).then(() => streamId);
};
/** Advances the clock of the counts. */
const endWindows = () => world.system(({ tx }) => tx.callCount.updateMany({ data: { endsAt: new Date(0) } }));
const loseStreams = () => world.system(({ tx }) => tx.openStream.updateMany({ data: { seenAt: new Date(0) } }));

test('concurrent claims of several processes get no more than the window has, and the next window starts full', async () => {
  const granted = await Promise.all(Array.from({ length: 8 }, () => claim('shared', 3)));
  expect(granted.reduce((sum, each) => sum + each.granted, 0)).toBe(10);
  expect(granted.every(({ windowEndsInMs }) => windowEndsInMs > 0)).toBe(true);
  expect((await claim('another', 3)).granted).toBe(3);
  await endWindows();
  expect((await claim('shared', 3)).granted).toBe(3);
});

test('open streams of a person and of an organization stay within their bounds, even with concurrent opens', async () => {
  const tried = await Promise.allSettled(Array.from({ length: 9 }, () => open('usr_a')));
  const opened = tried.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
  expect(opened).toHaveLength(3);
  for (const each of tried)
    if (each.status === 'rejected') expect(each.reason).toMatchObject({ code: 'request.too_many' });
  await open('usr_b');
  await open('usr_b');
  await expect(open('usr_c')).rejects.toMatchObject({ code: 'request.too_many' });
  // Streams of one person count in every organization together, but not for another organization's bound.
  await open('usr_c', newId('org'));
  await expect(open('usr_a', newId('org'))).rejects.toMatchObject({ code: 'request.too_many' });
  await world.system((ctx) => closeStream(ctx, { streamId: opened[0] ?? '' }));
  await open('usr_a');
  // The same flood succeeds without the bound.
  const unbounded = { personMax: 1e6, organizationMax: 1e6 };
  await Promise.all(Array.from({ length: 9 }, () => open('usr_a', world.organizationId, unbounded)));
});

test('a stream that its process no longer renews does not count and is pruned', async () => {
  await world.system(({ tx }) => tx.openStream.deleteMany());
  const kept = await open('usr_d');
  await open('usr_d');
  await open('usr_d');
  await loseStreams();
  await world.system((ctx) => touchStreams(ctx, { streamIds: [kept] }));
  await open('usr_d');
  await open('usr_d');
  await expect(open('usr_d')).rejects.toMatchObject({ code: 'request.too_many' });
  await claim('pruned', 1);
  await endWindows();
  await claim('current', 1);
  await world.system(pruneRequests);
  const left = await world.system(({ tx }) =>
    Promise.all([tx.openStream.count(), tx.callCount.findMany({ select: { key: true } })]),
  );
  expect(left).toEqual([3, [{ key: 'current' }]]);
});

test('no organization sees or changes the counts', async () => {
  const asTenant = db.database.tenant(world.organizationId, (tx) => tx.openStream.count());
  await expect(asTenant).rejects.toThrow(/permission denied/);
  await expect(db.database.tenant(world.organizationId, (tx) => tx.callCount.deleteMany())).rejects.toThrow(
    /permission denied/,
  );
});
