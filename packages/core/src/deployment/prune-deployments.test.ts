// Retention of deployments and build logs, on rows: what is old and needed by nothing goes, in batches.
import { type AppId, newId } from '@fairlead/contract/ids';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { updateConfig } from '../app/index.ts';
import { retention } from '../kernel/index.ts';
import { type CreatedTestApp, type TestWorld, testWorld } from '../testing/index.ts';
import { createDeployment, pruneDeployments, rollbackApp } from './index.ts';

const minuteMs = 60_000;
let db: TestDatabase;
let world: TestWorld;
let appId: AppId;
let environmentId: string;

beforeAll(async () => {
  db = await testDatabase();
  world = await testWorld(db.database);
});
afterAll(() => db.drop());
beforeEach(async () => {
  await world.system(async ({ tx }) => {
    await tx.placementServer.deleteMany();
    await tx.deployment.deleteMany();
    await tx.app.deleteMany();
  });
  const made: CreatedTestApp = await world.createApp('Shop', { deployNow: false });
  appId = made.appId;
  await world.tenant((ctx) => updateConfig(ctx, { appId, settings: { releasesKept: 1 } }));
  ({ environmentId } = await world.system(({ tx }) => tx.placement.findFirstOrThrow({ where: { appId } })));
});

async function deploy(): Promise<{ deploymentId: string; releaseId: string }> {
  world.clock.forward(minuteMs);
  const { deploymentId } = await world.tenant((ctx) => createDeployment(ctx, { appId }));
  await world.advance(deploymentId);
  await world.finish(deploymentId);
  const { releaseId } = await world.system(({ tx }) =>
    tx.deployment.findUniqueOrThrow({ where: { id: deploymentId }, select: { releaseId: true } }),
  );
  return { deploymentId, releaseId: releaseId ?? '' };
}

/** Adds finished deployments of now, each with a part of its log. */
async function addFailed(amount: number): Promise<string[]> {
  const { organizationId, clock } = world;
  const now = clock.now();
  const newest = await world.system(({ tx }) => tx.deployment.aggregate({ where: { appId }, _max: { number: true } }));
  const rows = Array.from({ length: amount }, (_, at) => ({
    id: newId('dep'),
    ...{ organizationId, appId, environmentId, number: (newest._max.number ?? 0) + 1 + at, ref: 'main' },
    ...{ trigger: 'manual', state: 'failed', queuedAt: new Date(now.getTime() + at), finishedAt: now },
  }));
  const chunks = rows.map(({ id }) => ({
    ...{ id: newId('lgc'), organizationId, deploymentId: id, objectKey: `${id}/0` },
    ...{ firstLine: 0, lineCount: 1, sizeBytes: 1 },
  }));
  await world.system(async ({ tx }) => {
    await tx.deployment.createMany({ data: rows });
    await tx.logChunk.createMany({ data: chunks });
  });
  return rows.map(({ id }) => id);
}

async function pruneAll() {
  const batches: { count: number; objectKeys: readonly string[] }[] = [];
  for (let from: string | null = ''; from !== null; ) {
    const { next, ...batch }: Awaited<ReturnType<typeof pruneDeployments>> = await world.system((ctx) =>
      pruneDeployments(ctx, { from: from ?? '' }),
    );
    batches.push(batch);
    from = next;
  }
  return { sizes: batches.map(({ count }) => count), objectKeys: batches.flatMap(({ objectKeys }) => objectKeys) };
}
const remaining = async () =>
  (await world.system(({ tx }) => tx.deployment.findMany({ orderBy: { number: 'asc' } }))).map(({ id }) => id);

test('old deployments beyond the newest go with their logs, and young ones stay', async () => {
  const old = await addFailed(3);
  world.clock.forward(minuteMs);
  const newest = await addFailed(retention.deploymentsKept);
  expect(await pruneAll()).toEqual({ sizes: [0], objectKeys: [] });
  world.clock.forward(retention.deploymentMs - minuteMs);
  // Exactly as old as the limit: not older.
  expect(await pruneAll()).toEqual({ sizes: [0], objectKeys: [] });
  world.clock.forward(1);
  const { sizes, objectKeys } = await pruneAll();
  expect(sizes).toEqual([3]);
  expect([...objectKeys].sort()).toEqual(old.map((id) => `${id}/0`).sort());
  expect(await remaining()).toEqual(newest);
  expect(await world.system(({ tx }) => tx.logChunk.count())).toBe(retention.deploymentsKept);
});

test('a deployment of a release that is live or can be rolled back to stays, however old', async () => {
  const [first, second, third] = [await deploy(), await deploy(), await deploy()];
  // A rollback makes an old release live again.
  world.clock.forward(minuteMs);
  const back = await world.tenant((ctx) => rollbackApp(ctx, { appId, releaseId: second.releaseId as never }));
  await world.advance(back.deploymentId);
  await world.finish(back.deploymentId);
  world.clock.forward(minuteMs);
  const newest = await addFailed(retention.deploymentsKept);
  world.clock.forward(retention.deploymentMs + minuteMs);
  expect((await pruneAll()).sizes).toEqual([1]);
  const kept = [second.deploymentId, third.deploymentId, back.deploymentId];
  expect(await remaining()).toEqual([...kept, ...newest]);
  // The releases stay, and the kept ones can still be rolled back to.
  expect(await world.system(({ tx }) => tx.release.count({ where: { id: first.releaseId } }))).toBe(1);
  await world.tenant((ctx) => rollbackApp(ctx, { appId, releaseId: third.releaseId as never }));
});

test('an unfinished deployment stays, and each environment counts for itself', async () => {
  const { deploymentId } = await world.tenant((ctx) => createDeployment(ctx, { appId }));
  const newest = await addFailed(retention.deploymentsKept);
  const staging = await world.addEnvironment(appId, { name: `Staging ${deploymentId}` });
  const [moved] = newest;
  await world.system(({ tx }) =>
    tx.deployment.updateMany({ where: { id: moved ?? '' }, data: { environmentId: staging } }),
  );
  world.clock.forward(retention.deploymentMs + minuteMs);
  expect((await pruneAll()).sizes).toEqual([0]);
  expect(await remaining()).toEqual([deploymentId, ...newest]);
});

test('one batch deletes a bounded number, and the next goes on', async () => {
  await addFailed(450 + retention.deploymentsKept);
  world.clock.forward(retention.deploymentMs + minuteMs);
  expect((await pruneAll()).sizes).toEqual([200, 200, 50]);
  expect(await remaining()).toHaveLength(retention.deploymentsKept);
});

test('placements are walked in batches', async () => {
  const old = await addFailed(1);
  world.clock.forward(minuteMs);
  await addFailed(retention.deploymentsKept);
  const { organizationId } = world;
  await world.system(async ({ tx }) => {
    const { projectId } = await tx.app.findUniqueOrThrow({ where: { id: appId } });
    const apps = Array.from({ length: 150 }, (_, at) => ({
      ...{ id: newId('app'), organizationId, projectId, name: `App ${at}`, slug: `app-${at}`, repositoryUrl: '' },
    }));
    await tx.app.createMany({ data: apps });
    await tx.placement.createMany({
      data: apps.map(({ id }) => ({ id: newId('plc'), organizationId, appId: id, environmentId, branch: 'main' })),
    });
  });
  world.clock.forward(retention.deploymentMs + minuteMs);
  const { sizes, objectKeys } = await pruneAll();
  expect(sizes).toHaveLength(2);
  expect(objectKeys).toEqual(old.map((id) => `${id}/0`));
});
