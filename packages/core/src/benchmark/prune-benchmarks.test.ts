// Retention of benchmark runs, on rows.
import { newId } from '@fairlead/contract/ids';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { retention } from '../kernel/index.ts';
import { type TestWorld, testWorld } from '../testing/index.ts';
import { pruneBenchmarks } from './index.ts';

let db: TestDatabase;
let world: TestWorld;

beforeAll(async () => {
  db = await testDatabase();
  world = await testWorld(db.database);
});
afterAll(() => db.drop());

async function addRuns(name: string, amount: number, oldestState = 'succeeded'): Promise<string[]> {
  const { organizationId, serverId, clock } = world;
  const { appId } = await world.createApp(name, { deployNow: false });
  const { environmentId } = await world.system(({ tx }) => tx.placement.findFirstOrThrow({ where: { appId } }));
  const runs = Array.from({ length: amount }, (_, at) => ({
    ...{ id: newId('run'), organizationId, appId, environmentId, serverId, plan: {} },
    state: at === 0 ? oldestState : 'succeeded',
    createdAt: new Date(clock.now().getTime() + at),
  }));
  await world.system(({ tx }) => tx.benchmarkRun.createMany({ data: runs }));
  return runs.map(({ id }) => id);
}
const remaining = async (ids: readonly string[]) =>
  (await world.system(({ tx }) => tx.benchmarkRun.findMany({ where: { id: { in: [...ids] } } }))).length;

test('each app keeps its newest finished runs and a running one, and batches are bounded', async () => {
  const full = await addRuns('Full', retention.benchmarksKept + 250);
  const few = await addRuns('Few', 3);
  const running = await addRuns('Running', retention.benchmarksKept + 1, 'running');
  expect([await world.system(pruneBenchmarks), await world.system(pruneBenchmarks)]).toEqual([true, false]);
  expect(await remaining(full)).toBe(retention.benchmarksKept);
  expect(await remaining(full.slice(-retention.benchmarksKept))).toBe(retention.benchmarksKept);
  expect(await remaining(few)).toBe(3);
  expect(await remaining(running)).toBe(retention.benchmarksKept + 1);
});
