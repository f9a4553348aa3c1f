import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestWorld, testAccount, testWorld } from '../testing/index.ts';
import { accountEventsKeptMs, pruneAccounts } from './prune-accounts.ts';

let db: TestDatabase;
let world: TestWorld;
beforeAll(async () => {
  db = await testDatabase();
  world = await testWorld(db.database);
});
afterAll(() => db.drop());

const dayMs = 24 * 60 * 60_000;
const ago = (ms: number) => new Date(world.clock.now().getTime() - ms).toISOString();

test('what happened to an account goes at its age, ended sessions after a week, and nothing sooner', async () => {
  const { userId } = await testAccount(world, 'Ada');
  const ages = { old: accountEventsKeptMs + 1000, kept: accountEventsKeptMs - 1000 };
  for (const [id, age] of Object.entries(ages)) {
    await db.asOwner(
      `INSERT INTO account_event (id, user_id, kind, at) VALUES ('${id}', '${userId}', 'signed_in', '${ago(age)}')`,
    );
  }
  const ends = { ended: 8 * dayMs, lately: 6 * dayMs, open: -dayMs };
  for (const [id, ended] of Object.entries(ends)) {
    await db.asOwner(
      `INSERT INTO session (id, token, user_id, expires_at, updated_at) VALUES ('${id}', '${id}', '${userId}', '${ago(ended)}', now())`,
    );
  }
  await world.system(pruneAccounts);
  const left = await world.system(({ tx }) =>
    Promise.all([
      tx.$queryRaw<{ at: Date }[]>`SELECT at FROM account_event`,
      tx.session.findMany({ select: { id: true }, orderBy: { id: 'asc' } }),
    ]),
  );
  expect(left[0].map(({ at }) => at.toISOString())).toEqual([ago(ages.kept)]);
  expect(left[1].map(({ id }) => id)).toEqual(['lately', 'open']);
});

test('nobody above organizations reads what happened to whom', async () => {
  const read = world.system(({ tx }) => tx.$queryRaw`SELECT kind FROM account_event`);
  await expect(read).rejects.toThrow(/permission denied/);
});
