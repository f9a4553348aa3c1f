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

test('account events are deleted at their age, ended sessions after a week, and nothing sooner', async () => {
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

test('attempts to sign in and challenges go when they count no more, and are found by an index', async () => {
  const attempt = (key: string, counted: number, open: number) =>
    db.asOwner(
      `INSERT INTO sign_in_attempt (key, count, counted_at, open_at) VALUES ('${key}', 1, '${ago(counted)}', '${ago(open)}')`,
    );
  await attempt('forgotten', dayMs + 1000, dayMs);
  await attempt('waiting', dayMs + 1000, -60_000);
  await attempt('recent', 1000, 1000);
  for (const [id, ended] of Object.entries({ over: 1000, running: -60_000 })) {
    await db.asOwner(
      `INSERT INTO verification (id, identifier, value, expires_at, updated_at) VALUES ('${id}', 'x', 'x', '${ago(ended)}', now())`,
    );
  }
  await world.system(pruneAccounts);
  const left = await world.system(({ tx }) =>
    Promise.all([
      tx.$queryRaw<{ at: Date }[]>`SELECT counted_at AS at FROM sign_in_attempt ORDER BY counted_at`,
      tx.$queryRaw<{ at: Date }[]>`SELECT expires_at AS at FROM verification`,
      tx.$queryRaw<{ name: string }[]>`
        SELECT indexname::text AS name FROM pg_indexes WHERE tablename IN ('sign_in_attempt', 'verification')`,
    ]),
  );
  const [attempts, verifications] = left
    .slice(0, 2)
    .map((rows) => (rows as { at: Date }[]).map(({ at }) => at.toISOString()));
  expect(attempts).toEqual([ago(dayMs + 1000), ago(1000)]);
  expect(verifications).toEqual([ago(-60_000)]);
  expect(left[2].map(({ name }) => name)).toEqual(
    expect.arrayContaining(['sign_in_attempt_counted_at_idx', 'verification_expires_at_idx']),
  );
});

test('system scope cannot read account events', async () => {
  const read = world.system(({ tx }) => tx.$queryRaw`SELECT kind FROM account_event`);
  await expect(read).rejects.toThrow(/permission denied/);
});
