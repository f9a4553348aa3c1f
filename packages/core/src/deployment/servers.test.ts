// App on several servers: built once, rolled out in waves, and rolled back if one of them fails.

import { create } from '@bufbuild/protobuf';
import { ReportSchema, type RolloutStatus, StepState, StepStatusSchema, WorkState } from '@fairlead/contract/agent';
import { newId, parseId, type ServerId } from '@fairlead/contract/ids';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { updateConfig } from '../app/index.ts';
import { prepareDesiredState } from '../desired-state/index.ts';
import { recordReport } from '../link/index.ts';
import { attachServer, scaleApp } from '../placement/index.ts';
import { diffReleases } from '../release/index.ts';
import { createSecretSealer } from '../secret/index.ts';
import { builtStatus, rolloutStatus, type TestWorld, testUrl, testWorld } from '../testing/index.ts';
import {
  createDeployment,
  failOverdueDeployments,
  getDeployment,
  promoteRelease,
  restartApp,
  retryDeployment,
} from './index.ts';
import { pickUpMs } from './machine.ts';

let db: TestDatabase;
let world: TestWorld;
let second: ServerId;
let count = 0;
const capabilities = ['transfer', 'hook', 'rollout', 'volume', 'build.plan'];

beforeAll(async () => {
  db = await testDatabase();
  world = await testWorld(db.database);
  second = newId('srv');
  await world.system(async ({ tx }) => {
    await tx.server.updateMany({ data: { capabilities } });
    const { organizationId } = world;
    const now = world.clock.now();
    await tx.server.create({
      data: {
        id: second,
        organizationId,
        name: 'edge',
        publicKey: new Uint8Array(32).fill(1),
        capabilities,
        connectedGateway: 'test-gateway',
        connectedAt: now,
        lastSeenAt: now,
      },
    });
  });
});
afterAll(() => db.drop());

let appId: ReturnType<typeof parseApp>;
const parseApp = (id: string) => parseId('app', id);
beforeEach(async () => {
  count += 1;
  const made = await world.createApp(`Fleet ${count}`, { host: `fleet-${count}.example.test`, deployNow: false });
  appId = parseApp(made.appId);
  await world.tenant((ctx) => attachServer(ctx, { appId, serverId: second }));
  await world.system(({ tx }) => tx.server.updateMany({ data: { lastSeenAt: world.clock.now() } }));
});

const desired = (serverId: string) =>
  prepareDesiredState(world.system, { serverId, sealer: createSecretSealer(world.keys), urlOf: testUrl });
const specOf = async (serverId: string) => (await desired(serverId)).apps.find((spec) => spec.appId === appId);
const say = (serverId: string, rollouts: RolloutStatus[]) =>
  world.system((ctx) => recordReport(ctx, { serverId, report: create(ReportSchema, { rollouts }) }));
const get = (deploymentId: string) =>
  world.tenant((ctx) => getDeployment(ctx, { deploymentId: parseId('dep', deploymentId) }));
async function deploy(digest = 'a'): Promise<string> {
  const { deploymentId } = await world.tenant((ctx) => createDeployment(ctx, { appId }));
  await world.advance(deploymentId);
  await world.report({ builds: [builtStatus(deploymentId, { digest: `sha256:${digest.repeat(64)}` })] });
  return deploymentId;
}
async function goLive(digest = 'a'): Promise<string> {
  const deploymentId = await deploy(digest);
  await say(world.serverId, [rolloutStatus(deploymentId, WorkState.SUCCEEDED)]);
  await say(second, [rolloutStatus(deploymentId, WorkState.SUCCEEDED)]);
  return deploymentId;
}

test('the first server rolls out first and the other follows; live means live on both', async () => {
  const deploymentId = await deploy();
  expect((await specOf(world.serverId))?.candidate?.deploymentId).toBe(deploymentId);
  expect(await specOf(second)).toBeUndefined();
  // A report of a server outside the current wave changes nothing.
  await say(second, [rolloutStatus(deploymentId, WorkState.SUCCEEDED)]);
  expect((await get(deploymentId)).state).toBe('rolling_out');

  await say(world.serverId, [rolloutStatus(deploymentId, WorkState.SUCCEEDED)]);
  expect((await specOf(second))?.candidate?.deploymentId).toBe(deploymentId);
  const between = await get(deploymentId);
  expect(between.servers.map(({ state }) => state)).toEqual(['live', 'rolling_out']);
  expect(between.waiting?.sentence).toContain('edge');
  await say(second, [rolloutStatus(deploymentId, WorkState.SUCCEEDED)]);
  expect(await get(deploymentId)).toMatchObject({ state: 'live', isCurrent: true, waiting: null });
  expect((await specOf(second))?.live?.releaseId).toBe((await specOf(world.serverId))?.live?.releaseId);
});

test('a failure on the second server rolls the first back, and the sentence names the server', async () => {
  await goLive();
  const former = (await specOf(world.serverId))?.live?.releaseId;
  const deploymentId = await deploy('b');
  await say(world.serverId, [rolloutStatus(deploymentId, WorkState.SUCCEEDED)]);
  const failure = { code: 'rollout.unhealthy', message: 'GET /up answered 500.' };
  await say(second, [rolloutStatus(deploymentId, WorkState.FAILED, failure)]);
  expect((await specOf(second))?.candidate).toBeUndefined();
  expect((await get(deploymentId)).waiting?.reason).toBe('going_back');
  const way = (await specOf(world.serverId))?.candidate;
  expect(way?.release?.releaseId).toBe(former);
  expect(way?.deploymentId).not.toBe(deploymentId);
  await say(world.serverId, [rolloutStatus(way?.deploymentId ?? '', WorkState.SUCCEEDED)]);

  const ended = await get(deploymentId);
  expect(ended).toMatchObject({ state: 'failed', failureCode: 'rollout.unhealthy', canRetry: true });
  expect(ended.failureMessage).toMatch(/^On edge: GET \/up answered 500\./);
  for (const serverId of [world.serverId, second]) {
    const spec = await specOf(serverId);
    expect([spec?.live?.releaseId, spec?.candidate]).toEqual([former, undefined]);
  }
});

test('a server that is lost during a rollout leaves no mixed releases', async () => {
  await goLive();
  const former = (await specOf(second))?.live?.releaseId;
  const deploymentId = await deploy('c');
  await say(world.serverId, [rolloutStatus(deploymentId, WorkState.SUCCEEDED)]);
  const sweep = () => world.system(failOverdueDeployments);
  world.clock.forward(pickUpMs + 1);
  await sweep();
  expect((await get(deploymentId)).servers.map(({ state }) => state)).toEqual(['reverting', 'failed']);
  // No server rolls back either: the live release is set back without them.
  world.clock.forward(pickUpMs + 1);
  await sweep();
  expect(await get(deploymentId)).toMatchObject({ state: 'failed', failureCode: 'deployment.server_lost' });
  expect((await specOf(world.serverId))?.live?.releaseId).toBe(former);
  await world.system(({ tx }) => tx.server.updateMany({ data: { lastSeenAt: world.clock.now() } }));
});

test('a restart and a number of copies reach every server of the app in that environment, and no other environment', async () => {
  await goLive();
  const releaseId = (await specOf(second))?.live?.releaseId;
  const { deploymentId } = await world.tenant((ctx) => restartApp(ctx, { appId }));
  await world.advance(deploymentId);
  expect((await specOf(world.serverId))?.candidate).toMatchObject({ deploymentId, release: { releaseId } });
  await say(world.serverId, [rolloutStatus(deploymentId, WorkState.SUCCEEDED)]);
  expect((await specOf(second))?.candidate).toMatchObject({ deploymentId, release: { releaseId } });
  await say(second, [rolloutStatus(deploymentId, WorkState.SUCCEEDED)]);
  expect(await get(deploymentId)).toMatchObject({ state: 'live', trigger: 'restart' });

  const serverIds = [world.serverId, second];
  const environmentId = await world.addEnvironment(appId, { name: `Scaled ${count}` }, { serverIds });
  const copies = async () => {
    const rows = await world.system(({ tx }) => tx.placement.findMany({ where: { appId }, orderBy: { id: 'asc' } }));
    return rows.map((row) => [row.environmentId === environmentId, row.instances]);
  };
  await world.tenant((ctx) => scaleApp(ctx, { appId, instances: 3 }));
  await world.tenant((ctx) => scaleApp(ctx, { appId, environmentId, instances: 5 }));
  expect((await copies()).sort()).toEqual([
    [false, 3],
    [true, 5],
  ]);
  expect([(await specOf(world.serverId))?.instances, (await specOf(second))?.instances]).toEqual([3, 3]);
  // Nothing is live there yet, and a restart of the one environment is none of the other.
  await expect(world.tenant((ctx) => restartApp(ctx, { appId, environmentId }))).rejects.toMatchObject({
    code: 'app.not_live',
  });
});

test('after a failed rollback on one server a restart would change the live release, and is refused', async () => {
  await goLive();
  const deploymentId = await deploy('b');
  await say(world.serverId, [rolloutStatus(deploymentId, WorkState.SUCCEEDED)]);
  await say(second, [rolloutStatus(deploymentId, WorkState.FAILED)]);
  const way = (await specOf(world.serverId))?.candidate?.deploymentId ?? '';
  await say(world.serverId, [rolloutStatus(way, WorkState.FAILED)]);
  expect((await get(deploymentId)).failureMessage).toContain('the rollback failed there');
  await expect(world.tenant((ctx) => restartApp(ctx, { appId }))).rejects.toMatchObject({
    code: 'app.releases_differ',
  });
});

test('another server’s fetch is a step of the deployment; its other steps are its own', async () => {
  await goLive();
  const deploymentId = await deploy('c');
  await say(world.serverId, [rolloutStatus(deploymentId, WorkState.SUCCEEDED)]);
  const steps = (states: [string, StepState][]) =>
    states.map(([name, state]) => create(StepStatusSchema, { name, state }));
  const running = rolloutStatus(deploymentId, WorkState.RUNNING);
  running.steps = steps([
    ['fetch', StepState.RUNNING],
    ['start', StepState.RUNNING],
  ]);
  const before = (await get(deploymentId)).steps.find(({ name }) => name === 'start')?.state;
  await say(second, [running]);
  const told = new Map((await get(deploymentId)).steps.map(({ name, state }) => [name, state]));
  expect([told.get('fetch'), told.get('start')]).toEqual(['running', before]);
});

test('the release command runs on the first server only, and words that an agent lacks are refused with its name', async () => {
  const releaseCommand = { command: ['npm', 'run', 'migrate'], timeoutMs: 60_000 };
  await world.tenant((ctx) => updateConfig(ctx, { appId, settings: { releaseCommand } }));
  const deploymentId = await deploy();
  expect((await get(deploymentId)).state).toBe('releasing');
  expect((await specOf(world.serverId))?.candidate?.releaseCommand).toMatchObject(releaseCommand);
  expect((await desired(world.serverId)).requires).toContain('hook');
  await say(world.serverId, [rolloutStatus(deploymentId, WorkState.SUCCEEDED)]);
  expect((await specOf(second))?.candidate?.releaseCommand).toBeUndefined();
  await say(second, [rolloutStatus(deploymentId, WorkState.SUCCEEDED)]);

  const limits = { memoryBytesMax: 0, cpuMillisMax: 0 };
  const workers = [{ name: 'mailer', command: ['node', 'mail.js'], instances: 1, ...limits, staysAwake: false }];
  await world.tenant((ctx) => updateConfig(ctx, { appId, settings: { workers } }));
  const refused = await world.tenant((ctx) => createDeployment(ctx, { appId }));
  expect((await get(refused.deploymentId)).waiting?.reason).toBe('agent_lacks');
  await world.advance(refused.deploymentId);
  const ended = await get(refused.deploymentId);
  expect(ended).toMatchObject({ state: 'failed', failureCode: 'deployment.capability_missing' });
  expect(ended.failureMessage).toContain('“worker”');
});

test('a release keeps its settings: a newer version reaches the next one, and the difference is listed by name', async () => {
  await world.tenant((ctx) =>
    updateConfig(ctx, { appId, settings: { variables: { COLOR: { value: 'blue', scope: 'both' } } } }),
  );
  await goLive('d');
  const before = (await specOf(world.serverId))?.live;
  await world.tenant((ctx) =>
    updateConfig(ctx, {
      appId,
      settings: { variables: { COLOR: { value: 'red', scope: 'both' } }, stopTimeoutMs: 5000 },
    }),
  );
  expect((await specOf(world.serverId))?.live).toEqual(before);
  await goLive('e');
  const after = (await specOf(world.serverId))?.live;
  expect([before?.variables.COLOR, after?.variables.COLOR]).toEqual(['blue', 'red']);
  const fromReleaseId = parseId('rel', before?.releaseId ?? '');
  const toReleaseId = parseId('rel', after?.releaseId ?? '');
  const diff = await world.tenant((ctx) => diffReleases(ctx, { appId, fromReleaseId, toReleaseId }));
  expect(diff.settings).toEqual([
    { name: 'stopTimeoutMs', before: '10000', after: '5000' },
    { name: 'variables.COLOR', before: 'blue', after: 'red' },
  ]);
  expect(diff.artifact.map(({ name }) => name)).toEqual(['artifactDigest']);
});

test('a promoted release runs the same artifact with the settings of its environment; a failed one is retried without a build', async () => {
  await goLive('f');
  const releaseId = parseId('rel', (await specOf(world.serverId))?.live?.releaseId ?? '');
  const nowhere = world.tenant((ctx) => promoteRelease(ctx, { environmentId: newId('env'), releaseId }));
  await expect(nowhere).rejects.toMatchObject({ code: 'placement.not_there' });
  const environmentId = await world.addEnvironment(appId, { name: `Stage ${count}` });
  await world.tenant((ctx) =>
    updateConfig(ctx, { appId, environmentId, settings: { variables: { STAGE: { value: '1', scope: 'both' } } } }),
  );
  const { deploymentId } = await world.tenant((ctx) => promoteRelease(ctx, { environmentId, releaseId }));
  await world.advance(deploymentId);
  const staged = async () =>
    (await desired(world.serverId)).apps.find((spec) => spec.appId === appId && spec.environmentId === environmentId);
  expect((await staged())?.candidate?.release).toMatchObject({
    artifactDigest: `sha256:${'f'.repeat(64)}`,
    variables: { STAGE: '1' },
  });
  await world.report({ rollouts: [rolloutStatus(deploymentId, WorkState.FAILED)] });
  const again = await world.tenant((ctx) => retryDeployment(ctx, { deploymentId }));
  await world.advance(again.deploymentId);
  expect((await desired(world.serverId)).builds).toEqual([]);
  expect((await staged())?.candidate?.deploymentId).toBe(again.deploymentId);
});
