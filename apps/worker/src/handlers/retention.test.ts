// Tests of the jobs that delete what is past its retention: rows and the files of logs.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newId } from '@fairlead/contract/ids';
import { deleteApp } from '@fairlead/core/app';
import { createFolderArtifactStore } from '@fairlead/core/artifact';
import { defaultBuildSlots } from '@fairlead/core/deployment';
import { retention } from '@fairlead/core/kernel';
import { createFolderLogStore } from '@fairlead/core/log';
import { createSecretKeys } from '@fairlead/core/secret';
import { type CreatedTestApp, silentLog, type TestWorld, testWorld, testWrapper } from '@fairlead/core/testing';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { purgeAppsHandler } from './app.ts';
import { pruneDeploymentsHandler } from './deployment.ts';
import { unusedGithub } from './github.testing.ts';
import type { HandlerParts } from './handler.ts';
import { createOrganizationTurns } from './organization-turns.ts';
import { testAcme, testDns, testHostLookup } from './testing.ts';

let db: TestDatabase;
let world: TestWorld;
let dir: string;
let parts: HandlerParts;
const failures: object[] = [];

beforeEach(async () => {
  db = await testDatabase();
  world = await testWorld(db.database);
  dir = await mkdtemp(join(tmpdir(), 'fairlead-worker-retention-'));
  failures.length = 0;
  parts = {
    database: db.database,
    logs: createFolderLogStore(dir),
    artifacts: createFolderArtifactStore('unused'),
    workerId: 'one',
    secretKeys: createSecretKeys(testWrapper()),
    links: { localHttpsPort: 4443, localHttpPort: 4480 },
    github: unusedGithub,
    mailer: null,
    publicUrl: null,
    hostLookup: testHostLookup,
    acme: testAcme,
    dns: testDns,
    buildSlots: defaultBuildSlots,
    turns: createOrganizationTurns({ log: silentLog, stopping: new AbortController().signal }),
    backups: null,
    updates: null,
    stopping: new AbortController().signal,
    clock: world.clock,
    log: { ...silentLog, error: (fields) => void failures.push(fields) },
  };
});
afterEach(async () => {
  await db.drop();
  await rm(dir, { recursive: true });
});

/** Adds a finished deployment with a file of its log, and returns the file's key. */
async function addDeployment({ appId }: CreatedTestApp, number: number): Promise<string> {
  const { organizationId, clock } = world;
  const deploymentId = newId('dep');
  const objectKey = `${organizationId}/${deploymentId}/0.json.zst`;
  await world.system(async ({ tx }) => {
    const { environmentId } = await tx.placement.findFirstOrThrow({ where: { appId } });
    await tx.deployment.create({
      data: {
        ...{
          id: deploymentId,
          organizationId,
          appId,
          environmentId,
          number,
          trigger: 'manual',
          state: 'failed',
          ref: '',
        },
        ...{ queuedAt: new Date(clock.now().getTime() + number), finishedAt: clock.now() },
        logChunks: {
          create: { id: newId('lgc'), firstLine: 0, lineCount: 1, objectKey, sizeBytes: 1 },
        },
      },
    });
  });
  await parts.logs.put(objectKey, new Uint8Array([1]));
  return objectKey;
}
const remove = (app: CreatedTestApp, confirmName: string) =>
  world.tenant((ctx) => deleteApp(ctx, { appId: app.appId, confirmName }));
const appNames = async () => (await world.system(({ tx }) => tx.app.findMany())).map(({ name }) => name);

test('deleted apps are purged with their logs once their time is over, each on its own', async () => {
  const [first, second] = [await world.createApp('First'), await world.createApp('Second')];
  const firstLog = await addDeployment(first, 10);
  await remove(first, 'First');
  await remove(second, 'Second');
  await purgeAppsHandler(parts, {});
  expect(await appNames()).toEqual(['First', 'Second']);
  expect(await parts.logs.get(firstLog)).not.toBeNull();
  world.clock.forward(retention.deletedAppMs);
  const stuck = { ...parts.logs, delete: () => Promise.reject(new Error('the disk is gone')) };
  await purgeAppsHandler({ ...parts, logs: stuck }, {});
  expect(await appNames()).toEqual([]);
  expect(failures).toMatchObject([{ appId: first.appId }]);
});

test('logs of a purged app are deleted', async () => {
  const app = await world.createApp('Shop');
  const log = await addDeployment(app, 10);
  await remove(app, 'Shop');
  world.clock.forward(retention.deletedAppMs);
  await purgeAppsHandler(parts, {});
  expect(await parts.logs.get(log)).toBeNull();
  expect(failures).toEqual([]);
});

test('old deployments lose their rows and the files of their logs, and newer ones keep them', async () => {
  const app = await world.createApp('Shop', { deployNow: false });
  const logs: string[] = [];
  for (let number = 1; number <= retention.deploymentsKept + 2; number += 1)
    logs.push(await addDeployment(app, number));
  world.clock.forward(retention.deploymentMs + 1000);
  await pruneDeploymentsHandler(parts, {});
  const files = await Promise.all(logs.map((key) => parts.logs.get(key)));
  expect(files.map((file) => file !== null)).toEqual(logs.map((_, at) => at >= 2));
  expect(await world.system(({ tx }) => tx.deployment.count())).toBe(retention.deploymentsKept);
});
