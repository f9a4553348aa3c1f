import { afterEach, beforeEach, expect, test } from 'vitest';
import { busy, withLock } from './lock.ts';
import { type TestDatabase, testDatabase } from './testing-vitest.ts';

let db: TestDatabase;
beforeEach(async () => {
  db = await testDatabase();
});
afterEach(() => db.drop());

test('one session holds a lock at a time, and its end releases the lock', async () => {
  const within = await withLock(db.url, 'backup', async () => ({
    same: await withLock(db.url, 'backup', async () => 'done'),
    other: await withLock(db.url, 'something else', async () => 'done'),
  }));
  expect(within).toEqual({ same: busy, other: 'done' });
  expect(await withLock(db.url, 'backup', async () => 'done')).toBe('done');
});

test('a lock is free again after its work failed', async () => {
  const failing = withLock(db.url, 'backup', () => Promise.reject(new Error('no room')));
  await expect(failing).rejects.toThrow('no room');
  expect(await withLock(db.url, 'backup', async () => 'done')).toBe('done');
});

test('work whose session was lost is an error', async () => {
  const losing = withLock(db.url, 'backup', () =>
    db.asOwner(
      `SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE application_name = 'fairlead-lock'`,
    ),
  );
  await expect(losing).rejects.toThrow('the database ended the session that held the lock');
});
