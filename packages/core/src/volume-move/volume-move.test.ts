// Tests of moves of apps with their volumes: from a live server and from a lost one, refused, failed and cancelled ones.
import { create } from '@bufbuild/protobuf';
import { ReportSchema, type VolumeTask, VolumeTaskStatusSchema, WorkState } from '@fairlead/contract/agent';
import { type AppId, newId, parseId, type ServerId, type VolumeMoveId } from '@fairlead/contract/ids';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { updateConfig } from '../app/index.ts';
import { findTransfer, hashTransferToken, pruneArtifacts, recordArtifact } from '../artifact/index.ts';
import { createDeployment, explainApp, restartApp } from '../deployment/index.ts';
import { forOrganization } from '../kernel/index.ts';
import { recordReport } from '../link/index.ts';
import { attachServer, drainServer, getDrain, requirePlacement } from '../placement/index.ts';
import { auditOf, builtStatus, rolloutStatus, type TestWorld, testWorld } from '../testing/index.ts';
import { failStuckSnapshots, listSnapshots, planSnapshots, pruneSnapshots, recordVolumes } from '../volume/index.ts';
import { advanceMove, cancelMove, failMove, listMoves, moveApps, releaseLeftVolumes, retryMove } from './index.ts';

const capabilities = ['app', 'route', 'transfer', 'volume', 'volume.snapshot', 'build', 'build.plan'];
const digest = `sha256:${'d'.repeat(64)}`;
const day = 24 * 60 * 60_000;
const isAllowed = () => Promise.resolve();
let db: TestDatabase;
let world: TestWorld;
let west: ServerId;
let appId: AppId;

beforeEach(async () => {
  db = await testDatabase();
  world = await testWorld(db.database);
  west = newId('srv');
  const { organizationId } = world;
  const link = { connectedGateway: 'test-gateway', lastSeenAt: world.clock.now(), capabilities };
  const token = (id: string) => ({ transferTokenHash: hashTransferToken(id) });
  await world.system(async ({ tx }) => {
    await tx.server.updateMany({ data: { ...link, ...token(world.serverId) } });
    const server = { id: west, organizationId, name: 'west', publicKey: Buffer.from(west), ...link, ...token(west) };
    await tx.server.create({ data: server });
  });
  appId = (await world.createApp('Notes', { deployNow: false })).appId;
  await schedule('off');
  const { deploymentId } = await world.tenant((ctx) => createDeployment(ctx, { appId }));
  await world.advance(deploymentId);
  await say(world.serverId, { builds: [builtStatus(deploymentId)] });
  await say(world.serverId, { rollouts: [rolloutStatus(deploymentId, WorkState.SUCCEEDED)] });
  await world.system((ctx) =>
    recordArtifact(forOrganization(ctx, organizationId), {
      digest: `sha256:${'a'.repeat(64)}`,
      kind: 'build',
      sizeBytes: 4096,
    }),
  );
});
afterEach(() => db.drop());

const schedule = (snapshots: 'off' | 'hourly' | 'daily') =>
  world.tenant((ctx) =>
    updateConfig(ctx, { appId, settings: { volumes: [{ name: 'data', path: '/data', snapshots }] } }),
  );
const say = (serverId: string, parts: Parameters<typeof create<typeof ReportSchema>>[1]) =>
  world.system((ctx) => recordReport(ctx, { serverId, report: create(ReportSchema, parts) }));
const tasks = async (serverId = world.serverId) => (await world.desired(serverId)).volumeTasks;
const apps = async (serverId = world.serverId) => (await world.desired(serverId)).apps.map((app) => app.appId);
const servers = async () =>
  (await world.tenant((ctx) => requirePlacement(ctx, { appId }))).servers.map(({ serverId }) => serverId);
const transfer = (token: string, volumeTaskId: string | null = null) =>
  world.system((ctx) => findTransfer(ctx, { token, digest, deploymentId: null, volumeTaskId }));
const drain = () => world.tenant((ctx) => drainServer(ctx, { serverId: world.serverId, drained: true }, isAllowed));
const move = async (changes = {}) => {
  const input = { serverId: world.serverId, targetServerId: west, copyVolumes: true, ...changes };
  return (await world.tenant((ctx) => moveApps(ctx, input, isAllowed))).items;
};
const moves = async () => (await world.tenant((ctx) => listMoves(ctx, { serverId: world.serverId }))).items;
const advance = (moveId: VolumeMoveId) => world.tenant((ctx) => advanceMove(ctx, { moveId }));
const lose = () =>
  world.system(({ tx }) => tx.server.updateMany({ where: { id: world.serverId }, data: { connectedGateway: null } }));

/** Carries out a snapshot as an agent does. */
async function upload(task: VolumeTask | undefined, serverId = world.serverId): Promise<void> {
  const taskId = task?.taskId ?? '';
  expect(await transfer(serverId, taskId)).toMatchObject({ mayWrite: true, kind: 'volume' });
  await world.system((ctx) =>
    recordArtifact(forOrganization(ctx, world.organizationId), { digest, kind: 'volume', sizeBytes: 500 }),
  );
  const sizeBytes = 500n;
  const status = create(VolumeTaskStatusSchema, {
    taskId,
    state: WorkState.SUCCEEDED,
    step: 'upload',
    digest,
    sizeBytes,
  });
  await say(serverId, { volumeTasks: [status] });
}
async function report(serverId: ServerId, task: VolumeTask | undefined, message = ''): Promise<void> {
  const state = message === '' ? WorkState.SUCCEEDED : WorkState.FAILED;
  const failure = message === '' ? {} : { failure: { code: 'volume.disk_full', message } };
  const status = create(VolumeTaskStatusSchema, { taskId: task?.taskId ?? '', state, step: 'unpack', ...failure });
  await say(serverId, { volumeTasks: [status] });
}
async function startedMove(): Promise<VolumeMoveId> {
  world.clock.forward(1000);
  await drain();
  const [item] = await move();
  if (item?.moveId == null) throw new Error('a move was expected');
  return item.moveId;
}
/** Copies the volumes, so that the app is deployed on the target. */
async function deployedMove(): Promise<{ moveId: VolumeMoveId; deploymentId: string }> {
  const moveId = await startedMove();
  await upload((await tasks())[0]);
  await advance(moveId);
  await report(west, (await tasks(west))[0]);
  await advance(moveId);
  const deploymentId = (await moves())[0]?.deploymentId ?? '';
  await world.advance(deploymentId);
  return { moveId, deploymentId };
}

test('an app stops, is copied, starts on the other server and leaves the old one, which keeps its volume for a week', async () => {
  const moveId = await startedMove();
  expect(await apps()).toEqual([]);
  expect(await tasks()).toMatchObject([
    { volume: { appId, name: 'data' }, action: { case: 'snapshot', value: { stopped: true } } },
  ]);
  expect(await tasks(west)).toEqual([]);
  const refused = { code: 'volume_move.under_way' };
  await expect(world.tenant((ctx) => restartApp(ctx, { appId }))).rejects.toMatchObject(refused);
  await expect(world.tenant((ctx) => attachServer(ctx, { appId, serverId: west }))).rejects.toMatchObject(refused);
  expect(await move()).toEqual([]);
  const { environmentId } = await world.tenant((ctx) => requirePlacement(ctx, { appId }));
  expect(await world.tenant((ctx) => explainApp(ctx, { appId, environmentId }))).toMatchObject({
    reason: 'moving',
    sentence: expect.stringContaining('copied from local to west'),
  });

  await upload((await tasks())[0]);
  await advance(moveId);
  expect(await tasks()).toEqual([]);
  expect(await apps(west)).toEqual([]);
  const [task] = await tasks(west);
  expect(task).toMatchObject({ volume: { appId, name: 'data' }, action: { case: 'restore', value: { digest } } });
  expect(await transfer(west)).toMatchObject({ mayRead: true, mayWrite: false });
  expect(await transfer(world.serverId)).toMatchObject({ mayRead: false, mayWrite: false });
  await report(west, task);
  expect(await transfer(west)).toMatchObject({ mayRead: false });

  await advance(moveId);
  expect(await apps()).toEqual([]);
  const deploymentId = (await moves())[0]?.deploymentId ?? '';
  await world.advance(deploymentId);
  expect(await apps(west)).toEqual([appId]);
  await say(west, { rollouts: [rolloutStatus(deploymentId, WorkState.SUCCEEDED)] });
  await advance(moveId);
  expect(await servers()).toEqual([west]);
  const deleteLeftAt = new Date(world.clock.now().getTime() + 7 * day);
  expect(await moves()).toMatchObject([
    { state: 'succeeded', volumes: [{ name: 'data', state: 'done', sizeBytes: 500 }], deleteLeftAt },
  ]);
  expect(await auditOf(world)).toEqual(
    expect.arrayContaining(['volume_move.start', 'server.move_apps', 'volume_move.end']),
  );

  // The old server deletes its copy a week later, and the packed one goes from the store.
  const left = { key: { appId, environmentId: (await moves())[0]?.environmentId ?? '', name: 'data' }, usedBytes: 9n };
  await say(world.serverId, { volumes: [left] });
  const deleted = async () => (await world.desired()).deletedVolumes.map(({ name }) => name);
  await world.system(releaseLeftVolumes);
  expect(await deleted()).toEqual([]);
  world.clock.forward(7 * day);
  await world.system(releaseLeftVolumes);
  expect(await deleted()).toEqual(['data']);
  expect((await world.desired(west)).deletedVolumes).toEqual([]);
  expect(await world.system(pruneSnapshots)).toBe(1);
  await world.system(pruneArtifacts);
  world.clock.forward(2 * day);
  expect((await world.system(pruneArtifacts)).map(({ hex }) => `sha256:${hex}`)).toEqual([digest]);
});

test('a snapshot of a server counts only if its bytes are in the store, and nobody else may write or read them', async () => {
  const moveId = await startedMove();
  const [task] = await tasks();
  expect(await transfer(west, task?.taskId)).toMatchObject({ mayRead: false, mayWrite: false });
  await report(west, task);
  expect(await moves()).toMatchObject([{ volumes: [{ state: 'running' }] }]);
  await report(world.serverId, task);
  expect(await moves()).toMatchObject([{ volumes: [{ state: 'failed' }] }]);
  await advance(moveId);
  expect(await moves()).toMatchObject([{ state: 'failed', failureMessage: expect.stringContaining('does not have') }]);
  expect(await apps()).toEqual([appId]);
});

test('a failed restore leaves the app on the old server, and a second attempt moves it', async () => {
  const moveId = await startedMove();
  await upload((await tasks())[0]);
  await advance(moveId);
  await report(west, (await tasks(west))[0], 'The disk is full.');
  await advance(moveId);
  expect(await moves()).toMatchObject([{ state: 'failed', failureMessage: 'The disk is full.' }]);
  expect(await apps()).toEqual([appId]);
  expect(await servers()).toEqual([world.serverId]);
  expect(await tasks(west)).toEqual([]);
  world.clock.forward(1000);
  const again = await world.tenant((ctx) => retryMove(ctx, { moveId }));
  expect(await moves()).toMatchObject([
    { moveId: again.moveId, state: 'copying' },
    { moveId, state: 'failed' },
  ]);
  await expect(world.tenant((ctx) => retryMove(ctx, again))).rejects.toMatchObject({ code: 'volume_move.not_failed' });
});

test('a rollout that fails on the other server takes the app back', async () => {
  const { moveId, deploymentId } = await deployedMove();
  await say(west, { rollouts: [rolloutStatus(deploymentId, WorkState.FAILED)] });
  await advance(moveId);
  expect(await moves()).toMatchObject([{ state: 'failed', failureMessage: expect.stringContaining('did not start') }]);
  expect(await servers()).toEqual([world.serverId]);
  expect(await apps()).toEqual([appId]);
  expect(await apps(west)).toEqual([]);
});

test('a cancelled move brings the app back at once, also during its rollout', async () => {
  const first = await startedMove();
  await world.tenant((ctx) => cancelMove(ctx, { moveId: first }));
  expect(await moves()).toMatchObject([{ state: 'cancelled', failureMessage: null }]);
  expect([await apps(), await tasks()]).toEqual([[appId], []]);
  await expect(world.tenant((ctx) => cancelMove(ctx, { moveId: first }))).rejects.toMatchObject({
    code: 'volume_move.finished',
  });
  const { moveId } = await deployedMove();
  await world.tenant((ctx) => cancelMove(ctx, { moveId }));
  expect((await moves())[0]).toMatchObject({ moveId, state: 'cancelled' });
  expect([await apps(), await servers()]).toEqual([[appId], [world.serverId]]);
});

test('a target that is drained meanwhile, or copies that take too long, end the move', async () => {
  const moveId = await startedMove();
  await world.tenant((ctx) => drainServer(ctx, { serverId: west, drained: true }, isAllowed));
  await advance(moveId);
  expect(await moves()).toMatchObject([{ state: 'failed', failureMessage: expect.stringContaining('drained') }]);
  await world.tenant((ctx) => drainServer(ctx, { serverId: west, drained: false }, isAllowed));
  world.clock.forward(1000);
  const again = await world.tenant((ctx) => retryMove(ctx, { moveId }));
  world.clock.forward(day);
  await advance(again.moveId);
  expect((await moves())[0]).toMatchObject({ state: 'failed', failureMessage: expect.stringContaining('in time') });
});

test('a refused step fails the move, and an old agent refuses it before the app stops', async () => {
  const moveId = await startedMove();
  const refusal = await attachServerError();
  await world.tenant((ctx) => failMove(ctx, { moveId }, refusal));
  expect(await moves()).toMatchObject([{ state: 'failed' }]);
  expect(await apps()).toEqual([appId]);
  await world.system(({ tx }) => tx.server.updateMany({ where: { id: west }, data: { capabilities: ['volume'] } }));
  await expect(move()).rejects.toMatchObject({ code: 'volume_move.unsupported' });
});

async function attachServerError() {
  try {
    await world.tenant((ctx) => attachServer(ctx, { appId, serverId: world.serverId }));
  } catch (error) {
    return error as never;
  }
  throw new Error('an error was expected');
}

/** Takes a scheduled snapshot. */
async function scheduledSnapshot(): Promise<void> {
  await world.system(({ tx, clock }) => tx.server.updateMany({ data: { lastSeenAt: clock.now() } }));
  expect(await world.system(planSnapshots)).toBe(1);
  expect(await world.system(planSnapshots)).toBe(0);
  const [task] = await tasks();
  expect(task).toMatchObject({ action: { case: 'snapshot', value: { stopped: false } } });
  // The app runs meanwhile.
  expect(await apps()).toEqual([appId]);
  await upload(task);
}
const volumeId = async () => {
  const { id } = await world.system(({ tx }) => tx.volume.findFirstOrThrow({ where: { appId } }));
  return parseId('vol', id);
};
const snapshots = async () => {
  const ref = { volumeId: await volumeId() };
  return (await world.tenant((ctx) => listSnapshots(ctx, ref))).items;
};

test('scheduled snapshots are taken on time while the app runs, and the newest three are kept', async () => {
  expect(await world.system(planSnapshots)).toBe(0);
  await schedule('hourly');
  await scheduledSnapshot();
  world.clock.forward(day / 24 - 1);
  expect(await world.system(planSnapshots)).toBe(0);
  for (let count = 0; count < 3; count += 1) {
    world.clock.forward(day / 24);
    await scheduledSnapshot();
  }
  expect(await snapshots()).toHaveLength(4);
  expect(await world.system(pruneSnapshots)).toBe(1);
  expect(await snapshots()).toMatchObject(
    Array.from({ length: 3 }, () => ({ state: 'stored', reason: 'schedule', sizeBytes: 500 })),
  );
  await schedule('daily');
  world.clock.forward(day / 2);
  expect(await world.system(planSnapshots)).toBe(0);
  world.clock.forward(day);
  // A server that is offline is asked when it is back.
  expect(await world.system(planSnapshots)).toBe(0);
  await scheduledSnapshot();
});

test('a snapshot that its server does not finish fails, and is taken again within the hour', async () => {
  await schedule('daily');
  expect(await world.system(planSnapshots)).toBe(1);
  world.clock.forward(day / 3);
  expect(await world.system(failStuckSnapshots)).toBe(1);
  expect(await tasks()).toEqual([]);
  await scheduledSnapshot();
  expect((await snapshots()).map(({ state }) => state)).toEqual(['stored', 'failed']);
});

test('apps of a lost server start elsewhere from their newest snapshots, and the lost server keeps its data', async () => {
  await schedule('daily');
  await scheduledSnapshot();
  world.clock.forward(60_000);
  await lose();
  const state = await drain();
  const snapshotAt = new Date(world.clock.now().getTime() - 60_000);
  expect(state.apps).toMatchObject([{ hasVolumes: true, volumes: [{ name: 'data', snapshotAt }], stays: 'volumes' }]);
  await world.system(({ tx, clock }) =>
    tx.server.updateMany({ where: { id: west }, data: { lastSeenAt: clock.now() } }),
  );
  const [item] = await move();
  const moveId = item?.moveId ?? newId('vmv');
  expect(await moves()).toMatchObject([
    { moveId, state: 'restoring', isFromSnapshots: true, volumes: [{ takenAt: snapshotAt }] },
  ]);
  await report(west, (await tasks(west))[0]);
  await advance(moveId);
  const deploymentId = (await moves())[0]?.deploymentId ?? '';
  await world.advance(deploymentId);
  await say(west, { rollouts: [rolloutStatus(deploymentId, WorkState.SUCCEEDED)] });
  await advance(moveId);
  expect(await moves()).toMatchObject([{ state: 'succeeded', deleteLeftAt: null }]);
  expect(await servers()).toEqual([west]);
});

test('without a snapshot an app of a lost server moves only if its data may stay behind', async () => {
  await lose();
  await drain();
  expect(await move()).toEqual([]);
  expect(await servers()).toEqual([world.serverId]);
  const [item] = await move({ leaveVolumes: true });
  expect(item).toMatchObject({ appId, moveId: null, deploymentId: expect.stringMatching(/^dep_/) });
});

test('with a snapshot of one of two volumes, the other one starts empty only on request', async () => {
  await schedule('daily');
  await scheduledSnapshot();
  const { environmentId } = await world.tenant((ctx) => requirePlacement(ctx, { appId }));
  await world.system((ctx) =>
    recordVolumes(forOrganization(ctx, world.organizationId), {
      serverId: world.serverId,
      volumes: [
        {
          $typeName: 'fairlead.agent.v1.VolumeStatus',
          key: { $typeName: 'fairlead.agent.v1.VolumeKey', appId, environmentId, name: 'cache' },
          usedBytes: 5n,
        },
      ],
    }),
  );
  await lose();
  await drain();
  const drained = await world.tenant((ctx) => getDrain(ctx, { serverId: world.serverId }));
  expect(drained.apps[0]?.volumes.map(({ name, snapshotAt }) => [name, snapshotAt !== null])).toEqual([
    ['cache', false],
    ['data', true],
  ]);
  expect(await move()).toEqual([]);
  expect(await move({ leaveVolumes: true })).toMatchObject([{ moveId: expect.stringMatching(/^vmv_/) }]);
  expect((await tasks(west)).map(({ volume }) => volume?.name)).toEqual(['data']);
});
