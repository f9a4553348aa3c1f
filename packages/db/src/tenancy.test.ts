import { newId } from '@fairlead/contract/ids';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestDatabase, testDatabase } from './testing-vitest.ts';

let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase();
});
afterAll(() => db.drop());

test('smoke', async () => {
  await db.database.assertSafe();
  const id = newId('org');
  await db.database.system('test', (tx) => tx.organization.create({ data: { id, name: 'A', slug: 'a' } }));
  const mine = await db.database.tenant(id, (tx) => tx.organization.findMany());
  expect(mine).toHaveLength(1);
});
