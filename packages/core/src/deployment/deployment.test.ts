import { WorkState } from '@fairlead/contract/agent';
import { newId } from '@fairlead/contract/ids';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Actor, actorUserId } from '../kernel/index.ts';
import { listReleases } from '../release/index.ts';
import { buildStatus, builtStatus, commitHash, rolloutStatus, type TestWorld, testWorld } from '../testing/index.ts';
import {
  cancelDeployment,
  createDeployment,
  failOverdueDeployments,
  getDeployment,
  listDeployments,
  redeploy,
  rollbackApp,
} from './index.ts';
import { pickUpMs } from './machine.ts';

let db: TestDatabase;
let world: TestWorld;
let count = 0;
let appId: string;
let first: string;

beforeAll(async () => {
  db = await testDatabase();
  world = await testWorld(db.database);
});
afterAll(() => db.drop());
beforeEach(async () => {
  count += 1;
  const app = await world.createApp(`Shop ${count}`, { host: `shop-${count}.example.test` });
  appId = app.appId;
  first = app.deploymentId ?? '';
});

const get = (deploymentId: string) =>
  world.tenant((ctx) => getDeployment(ctx, { deploymentId: asDeployment(deploymentId) }));
const deploy = async (): Promise<string> =>
  (await world.tenant((ctx) => createDeployment(ctx, { appId: asApp(appId) }))).deploymentId;
const goLive = async (deploymentId: string): Promise<void> => {
  await world.advance(deploymentId);
  await world.finish(deploymentId);
};
const appSpec = async () => (await world.desired()).apps.find((spec) => spec.appId === appId);
const liveReleaseId = async (): Promise<string | undefined> => (await appSpec())?.live?.releaseId;
const numberOf = async (): Promise<bigint> => (await world.desired()).version?.number ?? 0n;

function asDeployment(id: string) {
  return id as Parameters<typeof getDeployment>[1]['deploymentId'];
}
function asApp(id: string) {
  return id as Parameters<typeof createDeployment>[1]['appId'];
}

test('a deployment is built, rolled out and made live; the server gets every new state', async () => {
  expect(await get(first)).toMatchObject({
    state: 'queued',
    number: 1,
    trigger: 'manual',
    ref: 'main',
    canCancel: true,
  });
  expect((await world.desired()).builds.some((build) => build.deploymentId === first)).toBe(false);

  const before = await numberOf();
  await world.advance(first);
  const building = await world.desired();
  expect(building.version?.number).toBe(before + 1n);
  expect(building.requires).toContain('build');
  expect(building.builds.find((build) => build.deploymentId === first)).toMatchObject({
    repositoryUrl: 'https://git.example.test/shop.git',
    ref: 'main',
    rootFolder: '',
  });
  expect(await get(first)).toMatchObject({
    state: 'building',
    steps: [{ name: 'queue', state: 'running' }, {}, {}, {}, {}, {}, {}, {}],
  });

  await world.report({ builds: [builtStatus(first)] });
  const rolling = await world.desired();
  expect(rolling.builds.some((build) => build.deploymentId === first)).toBe(false);
  const candidate = rolling.apps.find((spec) => spec.appId === appId)?.candidate;
  expect(candidate).toMatchObject({ deploymentId: first, release: { number: 1n, command: ['node', 'server.js'] } });
  expect(rolling.apps.find((spec) => spec.appId === appId)?.live).toBeUndefined();

  await world.report({ rollouts: [rolloutStatus(first, WorkState.SUCCEEDED)] });
  const live = await appSpec();
  expect(live?.candidate).toBeUndefined();
  expect(live?.live?.releaseId).toBe(candidate?.release?.releaseId);
  const done = await get(first);
  expect(done).toMatchObject({
    state: 'live',
    commitHash,
    commitSubject: 'Open the shop',
    isCurrent: true,
    canCancel: false,
  });
  expect(done.durationMs).not.toBeNull();
  expect(done.steps.map(({ state }) => state)).not.toContain('running');
  expect(
    (await world.desired()).routes.find((route) => route.host === `shop-${count}.example.test`)?.target,
  ).toMatchObject({
    case: 'app',
    value: { appId },
  });
});

test('a message of an older agent does not print the PATH of its server', async () => {
  await world.advance(first);
  await world.report({ builds: [builtStatus(first)] });
  const message = 'There is no program `x` in its folder or in PATH (/opt/node/bin:/usr/bin). Install it.';
  await world.report({ rollouts: [rolloutStatus(first, WorkState.FAILED, { code: 'rollout.start_failed', message })] });
  expect((await get(first)).failureMessage).toBe('There is no program `x` in its folder or in PATH. Install it.');
});

test('a failed build keeps its sentence and the live release', async () => {
  expect((await get(first)).hadLiveRelease).toBe(false);
  await goLive(first);
  const serving = await liveReleaseId();
  const second = await deploy();
  await world.advance(second);
  const failure = {
    code: 'build.command_failed',
    message: 'npm run build ended with 1. Read the last lines of the log.',
  };
  await world.report({ builds: [buildStatus(second, WorkState.FAILED, failure)] });
  expect(await get(second)).toMatchObject({
    state: 'failed',
    failureCode: failure.code,
    failureMessage: failure.message,
    hadLiveRelease: true,
  });
  expect(await liveReleaseId()).toBe(serving);
});

test('a failed rollout removes its candidate and keeps the live release', async () => {
  await goLive(first);
  const serving = await liveReleaseId();
  const second = await deploy();
  await world.advance(second);
  await world.report({ builds: [builtStatus(second, { digest: `sha256:${'b'.repeat(64)}` })] });
  expect((await appSpec())?.candidate?.deploymentId).toBe(second);
  expect(await liveReleaseId()).toBe(serving);
  await world.report({
    rollouts: [rolloutStatus(second, WorkState.FAILED, { code: 'rollout.unhealthy', message: '' })],
  });
  const failed = await get(second);
  expect(failed).toMatchObject({ state: 'failed', failureCode: 'rollout.unhealthy', isCurrent: false });
  expect(failed.failureMessage).toMatch(/health check did not pass/);
  expect((await appSpec())?.candidate).toBeUndefined();
  expect(await liveReleaseId()).toBe(serving);
  expect(await get(first)).toMatchObject({ isCurrent: true });
});

test('a build whose report cannot become a release fails instead of poisoning the desired state', async () => {
  await world.advance(first);
  await world.report({ builds: [builtStatus(first, { digest: 'sha256:nonsense' })] });
  expect(await get(first)).toMatchObject({ state: 'failed', failureCode: 'build.internal' });
  const second = await deploy();
  await world.advance(second);
  await world.report({ builds: [builtStatus(second, { command: [] })] });
  expect(await get(second)).toMatchObject({ state: 'failed', failureCode: 'build.not_detected' });
});

test('a rollback rolls the older release out without a build', async () => {
  await goLive(first);
  const old = await liveReleaseId();
  const second = await deploy();
  await goLive(second);
  expect(await liveReleaseId()).not.toBe(old);

  const releases = await world.tenant((ctx) => listReleases(ctx, { appId: asApp(appId), limit: 10 }));
  expect(releases.items.map(({ number, isLive }) => [number, isLive])).toEqual([
    [2, true],
    [1, false],
  ]);
  const target = releases.items[1];
  if (target === undefined) throw new Error('the first release is missing');
  const { deploymentId } = await world.tenant((ctx) => rollbackApp(ctx, { appId: asApp(appId), releaseId: target.id }));
  await world.advance(deploymentId);
  const detail = await get(deploymentId);
  expect(detail).toMatchObject({ state: 'rolling_out', trigger: 'rollback', releaseNumber: 1, commitHash });
  expect(detail.steps.filter(({ state }) => state === 'skipped').map(({ name }) => name)).toEqual([
    'clone',
    'build',
    'pack',
  ]);
  await world.report({ rollouts: [rolloutStatus(deploymentId, WorkState.SUCCEEDED)] });
  expect(await liveReleaseId()).toBe(old);
  expect(await get(deploymentId)).toMatchObject({ isCurrent: true });
  expect(await get(first)).toMatchObject({ isCurrent: false, releaseId: old });

  await expect(
    world.tenant((ctx) => rollbackApp(ctx, { appId: asApp(appId), releaseId: target.id })),
  ).rejects.toMatchObject({ code: 'release.already_live' });
});

test('the trigger of a new deployment tells a member, an API token and the system apart', async () => {
  const { items } = await world.tenant((ctx) => listDeployments(ctx, { appId: asApp(appId), limit: 1 }));
  expect(items[0]).toMatchObject({ trigger: 'manual', actorName: 'Owner of acme', requestedByName: 'Owner of acme' });
  const by = async (change: (owner: Actor) => Actor) => {
    const made = await world.tenant((ctx) =>
      createDeployment({ ...ctx, actor: change(ctx.actor) }, { appId: asApp(appId) }),
    );
    return get(made.deploymentId);
  };
  const ownToken = (owner: Actor): Actor => ({ kind: 'token', tokenId: newId('tok'), userId: actorUserId(owner) });
  expect(await by(ownToken)).toMatchObject({
    trigger: 'api',
    actorName: 'Owner of acme',
    requestedByName: 'Owner of acme',
  });
  const nobody = { actorName: null, requestedByName: null };
  expect(await by(() => ({ kind: 'token', tokenId: newId('tok'), userId: null }))).toMatchObject({
    trigger: 'api',
    ...nobody,
  });
  expect(await by(() => ({ kind: 'system', reason: 'npm start' }))).toMatchObject({ trigger: 'system', ...nobody });
});

test('a redeploy builds the same commit again', async () => {
  await goLive(first);
  const { deploymentId } = await world.tenant((ctx) => redeploy(ctx, { deploymentId: asDeployment(first) }));
  expect(await get(deploymentId)).toMatchObject({ trigger: 'redeploy', ref: commitHash, number: 2 });
});

test.each(['queued', 'building', 'rolling_out'] as const)(
  'a cancel while %s ends it at once and changes nothing that serves',
  async (state) => {
    await goLive(first);
    const serving = await liveReleaseId();
    const second = await deploy();
    if (state !== 'queued') await world.advance(second);
    if (state === 'rolling_out') await world.report({ builds: [builtStatus(second)] });
    expect(await get(second)).toMatchObject({ state });

    await world.tenant((ctx) => cancelDeployment(ctx, { deploymentId: asDeployment(second) }));
    expect(await get(second)).toMatchObject({ state: 'cancelled', canCancel: false, failureCode: null });
    const desired = await world.desired();
    expect(desired.builds.some((build) => build.deploymentId === second)).toBe(false);
    expect((await appSpec())?.candidate).toBeUndefined();
    expect(await liveReleaseId()).toBe(serving);
    // The server's last report about it comes too late.
    await world.report({ builds: [builtStatus(second)], rollouts: [rolloutStatus(second, WorkState.SUCCEEDED)] });
    expect(await get(second)).toMatchObject({ state: 'cancelled' });
    expect(await liveReleaseId()).toBe(serving);
    await expect(
      world.tenant((ctx) => cancelDeployment(ctx, { deploymentId: asDeployment(second) })),
    ).rejects.toMatchObject({ code: 'deployment.already_finished' });
  },
);

test('a newer deployment supersedes queued ones, and waits itself for the running one', async () => {
  await world.advance(first);
  const second = await deploy();
  const third = await deploy();
  expect(await get(second)).toMatchObject({ state: 'superseded' });
  await world.advance(third);
  expect(await get(third)).toMatchObject({ state: 'queued' });
  await world.finish(first);
  await world.advance(third);
  expect(await get(third)).toMatchObject({ state: 'building' });
  const page = await world.tenant((ctx) => listDeployments(ctx, { appId: asApp(appId), limit: 2 }));
  expect(page.items.map(({ number }) => number)).toEqual([3, 2]);
  const rest = await world.tenant((ctx) =>
    listDeployments(ctx, { appId: asApp(appId), limit: 2, cursor: page.nextCursor }),
  );
  expect(rest.items.map(({ number }) => number)).toEqual([1]);
  expect(rest.nextCursor).toBeNull();
  const numbered2 = await world.tenant((ctx) => listDeployments(ctx, { appId: asApp(appId), number: 2, limit: 5 }));
  expect(numbered2.items.map(({ id }) => id)).toEqual([second]);
});

test('if its worker died, another one takes the lease and notifies the server again', async () => {
  await world.advance(first, 'worker-1');
  const before = await numberOf();
  const lease = () =>
    world.system(({ tx }) =>
      tx.deployment.findUniqueOrThrow({ where: { id: first }, select: { leaseOwner: true, leaseUntil: true } }),
    );
  expect(await lease()).toMatchObject({ leaseOwner: 'worker-1' });
  expect((await world.system(failOverdueDeployments)).failed).toBe(0);

  world.clock.forward(100_000);
  const swept = await world.system(failOverdueDeployments);
  expect(swept.failed).toBe(0);
  expect(swept.resumed).toBeGreaterThanOrEqual(1);
  await world.advance(first, 'worker-2');
  expect(await lease()).toMatchObject({ leaseOwner: 'worker-2' });
  expect(await numberOf()).toBeGreaterThan(before);
  await world.finish(first);
  expect(await get(first)).toMatchObject({ state: 'live' });
  expect(await lease()).toEqual({ leaseOwner: null, leaseUntil: null });
});

test('a deployment that its server never started fails with a sentence that says what to do', async () => {
  await world.advance(first);
  world.clock.forward(pickUpMs + 1);
  await world.report({});
  await world.system(failOverdueDeployments);
  expect(await get(first)).toMatchObject({
    state: 'failed',
    failureCode: 'deployment.build_overdue',
    failureMessage: 'The build did not finish in time. Check that the server is connected, then redeploy.',
  });

  const second = await deploy();
  await world.advance(second);
  world.clock.forward(pickUpMs + 1);
  await world.system(failOverdueDeployments);
  expect(await get(second)).toMatchObject({ state: 'failed', failureCode: 'deployment.server_offline' });
});

test('concurrent deployments get numbers of their own', async () => {
  const ids = await Promise.all([deploy(), deploy(), deploy()]);
  const numbers = await Promise.all(ids.map(async (id) => (await get(id)).number));
  expect(new Set(numbers)).toEqual(new Set([2, 3, 4]));
});
