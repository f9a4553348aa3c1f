// Tests for protected environments: a deployment needs another member's approval.
import { newId, parseId } from '@fairlead/contract/ids';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { updateApp } from '../app/index.ts';
import { updateEnvironment } from '../environment/index.ts';
import type { Actor, Ctx } from '../kernel/index.ts';
import { listReleases } from '../release/index.ts';
import { ownerRights } from '../role/index.ts';
import { createServiceAccount, createServiceToken, deleteServiceAccount } from '../service-account/index.ts';
import { type TestWorld, testWorld } from '../testing/index.ts';
import {
  approveDeployment,
  cancelDeployment,
  createDeployment,
  failOverdueDeployments,
  getDeployment,
  redeploy,
  refuseDeployment,
  rollbackApp,
} from './index.ts';

let db: TestDatabase;
let world: TestWorld;
let second: Actor;
let appId: string;
let live: string;
let count = 0;

beforeAll(async () => {
  db = await testDatabase();
  world = await testWorld(db.database);
  const userId = newId('usr');
  await world.system(async ({ tx }) => {
    await tx.user.create({ data: { id: userId, name: 'Second', email: 'second@example.test' } });
    await tx.member.create({
      data: { id: newId('mem'), organizationId: world.organizationId, userId, role: 'deployer' },
    });
  });
  second = { kind: 'member', userId, role: 'deployer' };
});
afterAll(() => db.drop());
beforeEach(async () => {
  count += 1;
  await protect(false);
  const app = await world.createApp(`Shop ${count}`);
  appId = app.appId;
  live = app.deploymentId ?? '';
  await world.advance(live);
  await world.finish(live);
  await protect(true);
});

const bySecond = <T>(run: (ctx: Ctx) => Promise<T>) => world.tenant((ctx) => run({ ...ctx, actor: second }));
const ref = (id: string) => ({ deploymentId: parseId('dep', id) });
const get = (id: string) => world.tenant((ctx) => getDeployment(ctx, ref(id)));
const deploy = async () =>
  (await world.tenant((ctx) => createDeployment(ctx, { appId: parseId('app', appId) }))).deploymentId;
const approve = (id: string) => bySecond((ctx) => approveDeployment(ctx, ref(id)));

async function protect(on: boolean): Promise<void> {
  await world.tenant(async (ctx) => {
    const { id } = await ctx.tx.environment.findFirstOrThrow();
    await updateEnvironment(ctx, { environmentId: parseId('env', id), protected: on });
  });
}

test('a deployment waits until another member approves it, whatever a worker does', async () => {
  const id = await deploy();
  await world.advance(id);
  expect(await get(id)).toMatchObject({ state: 'queued', approval: { state: 'pending', isOwn: true } });
  await approve(id);
  await world.advance(id);
  expect(await get(id)).toMatchObject({ state: 'building', approval: { state: 'approved', decidedByName: 'Second' } });
  await world.finish(id);
  expect((await get(id)).state).toBe('live');
});

test('redeploying and rolling back wait too', async () => {
  const { deploymentId: again } = await world.tenant((ctx) => redeploy(ctx, ref(live)));
  await world.advance(again);
  expect((await get(again)).state).toBe('queued');
  await approve(again);
  await world.advance(again);
  await world.finish(again);
  const { items } = await world.tenant((ctx) => listReleases(ctx, { appId: parseId('app', appId), limit: 10 }));
  const old = items.find(({ isLive }) => !isLive);
  if (old === undefined) throw new Error('there is no release to go back to');
  const back = await world.tenant((ctx) => rollbackApp(ctx, { appId: parseId('app', appId), releaseId: old.id }));
  await world.advance(back.deploymentId);
  expect((await get(back.deploymentId)).state).toBe('queued');
});

test('the requester cannot approve, and not by a token either', async () => {
  const id = await deploy();
  await expect(world.tenant((ctx) => approveDeployment(ctx, ref(id)))).rejects.toMatchObject({ code: 'approval.own' });
  await expect(world.tenant((ctx) => refuseDeployment(ctx, ref(id)))).rejects.toMatchObject({ code: 'approval.own' });
  const actor: Actor = { kind: 'token', tokenId: newId('tok'), userId: null };
  const byToken = world.tenant((ctx) => approveDeployment({ ...ctx, actor }, ref(id)));
  await expect(byToken).rejects.toMatchObject({ code: 'permission.denied' });
  expect((await get(id)).approval?.state).toBe('pending');
});

test('the maker of a machine’s token cannot approve its request, and another member can', async () => {
  const tokenId = await world.tenant(async (ctx) => {
    const account = await createServiceAccount(ctx, { name: `CI ${count}`, role: 'deployer' }, ownerRights);
    const minted = {
      ...account,
      name: 'Main',
      permissions: ['deployment.write' as const],
      ipRanges: [],
      lifetimeDays: 1,
    };
    return (await createServiceToken(ctx, minted, ownerRights)).id;
  });
  const machine: Actor = { kind: 'token', tokenId, userId: null };
  const wish = { appId: parseId('app', appId) };
  const byMachine = () => world.tenant((ctx) => createDeployment({ ...ctx, actor: machine }, wish));
  const approveByMaker = (id: string) => world.tenant((ctx) => approveDeployment(ctx, ref(id)));
  const asked = await byMachine();
  await expect(approveByMaker(asked.deploymentId)).rejects.toMatchObject({ code: 'approval.own' });
  expect((await get(asked.deploymentId)).approval?.isOwn).toBe(true);
  await approve(asked.deploymentId);
  // Nor by protecting the environment only once it waits.
  await protect(false);
  const before = await byMachine();
  await protect(true);
  await expect(approveByMaker(before.deploymentId)).rejects.toMatchObject({ code: 'approval.own' });
  await approve(before.deploymentId);
});

test('the maker of a machine’s token cannot approve its request after the machine is deleted', async () => {
  await protect(false);
  const name = `Pipeline ${count}`;
  const { account, tokenId } = await world.tenant(async (ctx) => {
    const account = await createServiceAccount(ctx, { name, role: 'deployer' }, ownerRights);
    const input = {
      ...account,
      name: 'Main',
      permissions: ['deployment.write' as const],
      ipRanges: [],
      lifetimeDays: 1,
    };
    return { account, tokenId: (await createServiceToken(ctx, input, ownerRights)).id };
  });
  const machine: Actor = { kind: 'token', tokenId, userId: null };
  const { deploymentId } = await world.tenant((ctx) =>
    createDeployment({ ...ctx, actor: machine }, { appId: parseId('app', appId) }),
  );
  expect(await get(deploymentId)).toMatchObject({ trigger: 'api', actorName: null, requestedByName: 'Owner of acme' });
  await world.tenant((ctx) => deleteServiceAccount(ctx, { ...account, confirmName: name }, ownerRights));
  await protect(true);
  const byMaker = world.tenant((ctx) => approveDeployment(ctx, ref(deploymentId)));
  await expect(byMaker).rejects.toMatchObject({ code: 'approval.own' });
  await approve(deploymentId);
  expect((await get(deploymentId)).approval?.state).toBe('approved');
});

test('refusing cancels it, for good', async () => {
  const id = await deploy();
  await bySecond((ctx) => refuseDeployment(ctx, ref(id)));
  expect(await get(id)).toMatchObject({ state: 'cancelled', approval: { state: 'refused' } });
  await world.advance(id);
  expect((await get(id)).state).toBe('cancelled');
  await expect(approve(id)).rejects.toMatchObject({ code: 'approval.not_pending' });
});

test('a cancelled or superseded deployment cannot be approved any more', async () => {
  const first = await deploy();
  const newer = await deploy();
  await expect(approve(first)).rejects.toMatchObject({ code: 'approval.not_pending' });
  await world.tenant((ctx) => cancelDeployment(ctx, ref(newer)));
  await expect(approve(newer)).rejects.toMatchObject({ code: 'approval.not_pending' });
  expect((await get(newer)).approval?.state).toBe('withdrawn');
});

test('a new request withdraws no approved deployment, and replaces it once it is approved', async () => {
  const approved = await deploy();
  await approve(approved);
  const pending = await deploy();
  const newest = await deploy();
  expect((await get(pending)).state).toBe('superseded');
  expect(await get(approved)).toMatchObject({ state: 'queued', approval: { state: 'approved' } });
  // A deployment that awaits approval does not block one that may run.
  await world.advance(newest);
  expect((await get(newest)).state).toBe('queued');
  await approve(newest);
  expect((await get(approved)).state).toBe('superseded');
  await world.advance(approved);
  await world.advance(newest);
  expect([(await get(approved)).state, (await get(newest)).state]).toEqual(['superseded', 'building']);
});

test('an approved deployment goes live while another awaits approval, which runs afterwards', async () => {
  const approved = await deploy();
  await approve(approved);
  const newer = await deploy();
  await world.advance(approved);
  await approve(newer);
  await world.advance(newer);
  expect([(await get(approved)).state, (await get(newer)).state]).toEqual(['building', 'queued']);
  await world.finish(approved);
  expect((await get(approved)).state).toBe('live');
  await world.advance(newer);
  await world.finish(newer);
  expect((await get(newer)).state).toBe('live');
});

test('without protection a newer deployment supersedes an approved one immediately', async () => {
  const approved = await deploy();
  await approve(approved);
  await protect(false);
  await deploy();
  expect((await get(approved)).state).toBe('superseded');
});

test('the sweep leaves it waiting, and a deployment that ends does not start it', async () => {
  await protect(false);
  const running = await deploy();
  await world.advance(running);
  await protect(true);
  const waiting = await deploy();
  await world.finish(running);
  world.clock.forward(60_000);
  await world.system(failOverdueDeployments);
  await world.advance(waiting);
  expect((await get(waiting)).state).toBe('queued');
});

test('new protection holds back queued deployments, and its removal approves none of them', async () => {
  await protect(false);
  const id = await deploy();
  expect((await get(id)).approval).toBeNull();
  await protect(true);
  await world.advance(id);
  expect(await get(id)).toMatchObject({ state: 'queued', approval: { state: 'pending' } });
  await protect(false);
  await world.advance(id);
  expect((await get(id)).state).toBe('queued');
});

test('protecting, approving and refusing are in the audit log', async () => {
  const [approved, refused] = [await deploy(), await deploy()];
  await expect(approve(approved)).rejects.toMatchObject({ code: 'approval.not_pending' });
  await bySecond((ctx) => refuseDeployment(ctx, ref(refused)));
  const last = await deploy();
  await approve(last);
  const events = await world.tenant(({ tx }) =>
    tx.auditEvent.findMany({ where: { targetId: { in: [approved, refused, last] } }, orderBy: { at: 'asc' } }),
  );
  const decided = events.filter(({ action }) => /approve|refuse/.test(action));
  expect(decided.map(({ action, targetId }) => [action, targetId]).sort()).toEqual([
    ['deployment.approve', last],
    ['deployment.refuse', refused],
  ]);
  const settings = await world.tenant(({ tx }) => tx.auditEvent.findMany({ where: { action: 'environment.update' } }));
  expect(settings.length).toBeGreaterThan(0);
});

test('a deployment in review stays what it was until it is built; its name and branch may change', async () => {
  const id = await deploy();
  const change = (changes: object) =>
    world.tenant((ctx) => updateApp(ctx, { appId: parseId('app', appId), ...changes }));
  const swaps = [
    { repositoryUrl: 'https://git.example.test/other.git' },
    { rootFolder: 'evil' },
    { command: ['node', 'evil.js'] },
    { healthPath: '/evil' },
  ];
  const refusesSwaps = async () => {
    for (const swap of swaps) await expect(change(swap)).rejects.toMatchObject({ code: 'approval.in_review' });
  };
  await refusesSwaps();
  await change({ name: `Renamed ${count}`, branch: 'next', rootFolder: '' });
  await approve(id);
  await refusesSwaps();
  await world.advance(id);
  expect((await get(id)).state).toBe('building');
  await refusesSwaps();
  await world.finish(id);
  await change({ rootFolder: 'apps/shop' });
});
