import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type DeploymentId, parseId } from '@fairlead/contract/ids';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { cancelDeployment } from '../deployment/index.ts';
import { forOrganization } from '../kernel/index.ts';
import { type TestWorld, testWorld } from '../testing/index.ts';
import { createFolderLogStore, type LogStore, recordLogChunk } from './index.ts';

let db: TestDatabase;
let world: TestWorld;
let store: LogStore;
let dir: string;
let deploymentId: DeploymentId;
let apps = 0;

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
beforeEach(async () => {
  apps += 1;
  const app = await world.createApp(`Shop ${apps}`);
  deploymentId = parseId('dep', app.deploymentId ?? '');
});

function record(firstLine: number, count: number, sequence: number, text = 'x'): Promise<boolean> {
  const lines = Array.from({ length: count }, () => ({ unixMs: 1, step: 'build', stream: 'stdout' as const, text }));
  return world.system((ctx) =>
    recordLogChunk(forOrganization(ctx, world.organizationId), {
      store,
      serverId: world.serverId,
      deploymentId,
      firstLine,
      sequence: BigInt(sequence),
      lines,
    }),
  );
}

const objects = async () => (await readdir(join(dir, world.organizationId, deploymentId)).catch(() => [])).length;

test('the same lines in other pushes leave one object', async () => {
  expect(await record(0, 5, 1)).toBe(true);
  for (let sequence = 2; sequence < 6; sequence += 1) expect(await record(0, 5, sequence)).toBe(true);
  expect(await objects()).toBe(1);
});

test('lines beyond a log’s limit are dropped, and leave no object', async () => {
  expect(await record(59_999, 1, 1)).toBe(true);
  expect(await record(59_999, 2, 2)).toBe(false);
  expect(await record(60_000, 1, 3)).toBe(false);
  expect(await record(1_000_000, 1, 4)).toBe(false);
  expect(await record(-1, 1, 4)).toBe(false);
  expect(await objects()).toBe(1);
});

test('chunks that overlap again and again fill a log like any other', async () => {
  for (let at = 0; at < 12; at += 1) expect(await record(at, 10_000, at + 1)).toBe(true);
  expect(await record(12, 1, 20)).toBe(false);
  expect(await objects()).toBe(12);
});

test('a deployment that is over takes its last lines for a day', async () => {
  await world.tenant((ctx) => cancelDeployment(ctx, { deploymentId }));
  world.clock.forward(23 * 3_600_000);
  expect(await record(0, 1, 1)).toBe(true);
  world.clock.forward(2 * 3_600_000);
  expect(await record(1, 1, 2)).toBe(false);
  expect(await objects()).toBe(1);
});
