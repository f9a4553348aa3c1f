import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { SerialClient } from './serial-client.ts';
import { type TestDatabase, testDatabase } from './testing-vitest.ts';

let db: TestDatabase;

beforeAll(async () => {
  db = await testDatabase();
});
afterAll(() => db.drop());

/**
 * Runs three concurrent queries, one of them failing; returns the outcomes and the warnings that Node printed
 * meanwhile.
 */
async function askAtOnce(client: pg.Client) {
  const warnings: string[] = [];
  const onWarning = (warning: Error) => warnings.push(warning.message);
  process.on('warning', onWarning);
  await client.connect();
  try {
    const outcomes = await Promise.allSettled([
      client.query('SELECT 1 AS number'),
      client.query('SELECT broken'),
      client.query({ text: 'SELECT $1::int AS number', values: [3], rowMode: 'array' }),
    ]);
    return { outcomes, warnings };
  } finally {
    await client.end();
    process.off('warning', onWarning);
  }
}

test('concurrent queries are sent one after another, and a failed one blocks none', async () => {
  const { outcomes, warnings } = await askAtOnce(new SerialClient({ connectionString: db.url }));
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  expect(outcomes[2]).toMatchObject({ value: { rows: [[3]] } });
  expect(warnings).toEqual([]);
  // Control: pg's own client warns. Node prints a deprecation once a process, so it comes second.
  const control = await askAtOnce(new pg.Client({ connectionString: db.url }));
  expect(control.warnings).toEqual([expect.stringContaining('already executing a query')]);
});
