import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseId } from '@fairlead/contract/ids';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cancelDeployment } from '../deployment/index.ts';
import { forOrganization } from '../kernel/index.ts';
import { type TestWorld, testWorld } from '../testing/index.ts';
import { createFolderLogStore, type LogStore, readLog, recordLogChunk } from './index.ts';

let db: TestDatabase;
let world: TestWorld;
let store: LogStore;
let dir: string;

beforeAll(async () => {
  db = await testDatabase();
  world = await testWorld(db.database);
  dir = await mkdtemp(join(tmpdir(), 'fairlead-log-'));
  store = createFolderLogStore(dir);
});
afterAll(async () => {
  await db.drop();
  await rm(dir, { recursive: true });
});

test('pages join to the whole log, lines count once, gaps are skipped, and the end is reported', async () => {
  const app = await world.createApp('Shop');
  const deploymentId = parseId('dep', app.deploymentId ?? '');
  const record = (firstLine: number, count: number, sequence: bigint) =>
    world.system((ctx) =>
      recordLogChunk(forOrganization(ctx, world.organizationId), {
        store,
        serverId: world.serverId,
        deploymentId,
        firstLine,
        sequence,
        lines: Array.from({ length: count }, (_, index) => ({
          unixMs: 1,
          step: 'build',
          stream: 'stdout' as const,
          text: `line ${firstLine + index}`,
        })),
      }),
    );
  const read = (fromLine: number, limit: number) =>
    world.tenant((ctx) => readLog(ctx, { deploymentId, fromLine, limit }, store));

  expect(await read(0, 10)).toEqual({ lines: [], nextLine: 0, totalLines: 0, complete: false });
  await record(0, 5, 1n);
  await record(3, 4, 2n);
  // Lines 7 to 9 were lost with a full spool.
  await record(10, 2, 3n);

  const first = await read(0, 4);
  expect(first.lines.map(({ number, text }) => [number, text])).toEqual([
    [0, 'line 0'],
    [1, 'line 1'],
    [2, 'line 2'],
    [3, 'line 3'],
  ]);
  expect(first).toMatchObject({ nextLine: 4, totalLines: 12, complete: false });
  const rest = await read(first.nextLine, 100);
  expect(rest.lines.map(({ number }) => number)).toEqual([4, 5, 6, 10, 11]);
  expect(rest).toMatchObject({ nextLine: 12, complete: false });

  await world.tenant((ctx) => cancelDeployment(ctx, { deploymentId }));
  expect(await read(12, 10)).toEqual({ lines: [], nextLine: 12, totalLines: 12, complete: true });
});
