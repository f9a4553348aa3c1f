import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestDatabase, testDatabase } from './testing-vitest.ts';

let db: TestDatabase;
let other: pg.Client;

beforeAll(async () => {
  db = await testDatabase();
  other = new pg.Client({ connectionString: db.url });
  await other.connect();
});
afterAll(async () => {
  await other.end();
  await db.drop();
});

/** Collects what arrives and lets a test wait for the next. */
function inbox() {
  const notices: string[] = [];
  let waiting: (() => void) | null = null;
  const arrived = (notice: string): void => {
    notices.push(notice);
    waiting?.();
  };
  return {
    handlers: { onNotice: arrived, onGap: () => arrived('(gap)') },
    async until(count: number): Promise<readonly string[]> {
      while (notices.length < count) {
        await new Promise<void>((resolve) => {
          waiting = resolve;
        });
      }
      return notices;
    },
  };
}

const notify = (channel: string, payload: string) => other.query('SELECT pg_notify($1, $2)', [channel, payload]);

test('notices arrive in order on their own channel, from the moment that listen resolved', async () => {
  const [first, second] = [inbox(), inbox()];
  const stopFirst = await db.database.listen('first', first.handlers);
  const stopSecond = await db.database.listen('second', second.handlers);
  await notify('first', '1');
  await notify('second', '2');
  await notify('first', '3');
  expect(await first.until(2)).toEqual(['1', '3']);
  expect(await second.until(1)).toEqual(['2']);
  await stopFirst();
  await stopSecond();
});

test('a closed listener gets no more notices, others on the channel still do', async () => {
  const [leaving, staying] = [inbox(), inbox()];
  const leave = await db.database.listen('shared', leaving.handlers);
  const stop = await db.database.listen('shared', staying.handlers);
  await leave();
  await notify('shared', 'after');
  expect(await staying.until(1)).toEqual(['after']);
  expect(await leaving.until(0)).toEqual([]);
  await stop();
});

test('a lost connection is restored, and the gap is reported', async () => {
  const box = inbox();
  const stop = await db.database.listen('mended', box.handlers);
  await notify('mended', 'before');
  await box.until(1);
  const killed = await other.query(
    `SELECT pg_terminate_backend(pid) AS killed FROM pg_stat_activity
     WHERE application_name = 'test-listen' AND datname = current_database()`,
  );
  expect(killed.rows).toEqual([{ killed: true }]);
  await box.until(2);
  await notify('mended', 'after');
  expect(await box.until(3)).toEqual(['before', '(gap)', 'after']);
  await stop();
});
