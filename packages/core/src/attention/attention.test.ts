// Tests of what needs attention, on a real database: true counts, reach, acknowledgements, and the filter of lists.
import { newId, parseId } from '@fairlead/contract/ids';
import type { Prisma } from '@fairlead/db';
import { insertOrganizationRows, type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { approveDeployment, createDeployment, defaultBuildSlots, listDeployments } from '../deployment/index.ts';
import { updateEnvironment } from '../environment/index.ts';
import type { Ctx } from '../kernel/index.ts';
import type { Reach } from '../role/index.ts';
import { type TestPerson, type TestWorld, testPerson, testWorld, wholeAttention } from '../testing/index.ts';
import {
  type AttentionGroup,
  type AttentionKind,
  type AttentionReach,
  acknowledgeAttention,
  listAttention,
  listAttentionTargets,
  restoreAttention,
} from './index.ts';

let db: TestDatabase;
let world: TestWorld;
let person: TestPerson;

beforeEach(async () => {
  db = await testDatabase();
  world = await testWorld(db.database);
  person = await testPerson(db.database, world, 'Ada', 'deployer');
});
afterEach(() => db.drop());

const scope = (reach: AttentionReach = wholeAttention) => ({ reach, buildSlots: defaultBuildSlots });
const as = <T>(run: (ctx: Ctx) => Promise<T>) => person.as((ctx) => run(ctx));
const attention = (reach?: AttentionReach) => as((ctx) => listAttention(ctx, scope(reach)));
const find = (groups: readonly AttentionGroup[], kind: AttentionKind) => groups.find((group) => group.kind === kind);
const group = async (kind: AttentionKind, reach?: AttentionReach) => find((await attention(reach)).groups, kind);
const hidden = async (kind: AttentionKind) => find((await attention()).acknowledged, kind);

/** Creates apps of which the only deployment failed, with the codes in turn; returns the ids of their deployments. */
async function failApps(count: number, codes: readonly string[]): Promise<string[]> {
  const ids: string[] = [];
  for (let index = 0; index < count; index += 1) {
    const { deploymentId } = await world.createApp(`App ${index}`);
    ids.push(deploymentId ?? '');
    world.clock.forward(1000);
    await failDeployment(deploymentId ?? '', codes[index % codes.length] ?? '');
  }
  return ids;
}

async function failDeployment(id: string, failureCode: string): Promise<void> {
  await world.system(({ tx }) =>
    tx.deployment.update({
      where: { id },
      data: { state: 'failed', failureCode, failureMessage: `${failureCode} happened.`, finishedAt: world.clock.now() },
    }),
  );
}

test('thirty failed apps are counted as thirty, by cause, and the list has exactly those', async () => {
  const ids = await failApps(30, ['build.command_failed', 'build.command_failed', 'rollout.unhealthy']);
  const { deploymentId } = await world.createApp('Healthy');
  await world.advance(deploymentId ?? '');
  await world.finish(deploymentId ?? '');

  const failed = await group('deployment_failed');
  expect(failed).toMatchObject({ title: '30 failed deployments', count: 30 });
  expect(failed?.causes.map(({ cause, count }) => [cause, count])).toEqual([
    ['build.command_failed', 20],
    ['rollout.unhealthy', 10],
  ]);
  expect(failed?.causes.map(({ items }) => items.length)).toEqual([5, 5]);
  expect(failed?.causes[0]?.items[0]).toMatchObject({
    title: 'Deployment 1 of App 28 to Production failed',
    detail: 'build.command_failed happened.',
    appSlug: 'app-28',
    deploymentId: ids[28],
  });

  const targets = await as((ctx) => listAttentionTargets(ctx, { kind: 'deployment_failed' }, scope()));
  expect(targets.sort()).toEqual([...ids].sort());
  const unhealthy = { kind: 'deployment_failed', cause: 'rollout.unhealthy' } as const;
  const listed = await as(async (ctx) =>
    listDeployments(ctx, { limit: 100 }, undefined, await listAttentionTargets(ctx, unhealthy, scope())),
  );
  expect(listed.items).toHaveLength(10);
  expect(new Set(listed.items.map(({ failureCode }) => failureCode))).toEqual(new Set(['rollout.unhealthy']));
});

test('a later deployment settles a failure, and each environment counts by itself', async () => {
  const [id = ''] = await failApps(1, ['build.command_failed']);
  const { appId, environmentId } = await world.system(({ tx }) => tx.deployment.findUniqueOrThrow({ where: { id } }));
  const staging = await world.addEnvironment(parseId('app', appId), { name: 'Staging' });
  const deploy = async (environment: string) =>
    (
      await world.tenant((ctx) =>
        createDeployment(ctx, { appId: parseId('app', appId), environmentId: parseId('env', environment) }),
      )
    ).deploymentId;
  await failDeployment(await deploy(staging), 'build.command_failed');
  expect((await group('deployment_failed'))?.count).toBe(2);
  const next = await deploy(environmentId);
  expect((await group('deployment_failed'))?.count).toBe(1);
  await world.advance(next);
  await world.finish(next);
  expect((await group('deployment_failed'))?.causes[0]?.items.map(({ environmentId: id }) => id)).toEqual([staging]);
});

test('an acknowledged failure is hidden for its reader only, until the app fails again', async () => {
  const [id = '', other = ''] = await failApps(2, ['build.command_failed']);
  const colleague = await testPerson(db.database, world, 'Bob', 'deployer');
  const [first] = (await group('deployment_failed'))?.causes[0]?.items.filter((item) => item.deploymentId === id) ?? [];
  const input = { kind: 'deployment_failed', subject: first?.subject ?? '' } as const;
  expect(await as((ctx) => acknowledgeAttention(ctx, input, scope()))).toEqual({ count: 1 });
  expect(await as((ctx) => acknowledgeAttention(ctx, input, scope()))).toEqual({ count: 0 });

  expect((await group('deployment_failed'))?.causes[0]?.items.map((item) => item.deploymentId)).toEqual([other]);
  expect(await hidden('deployment_failed')).toMatchObject({ count: 1, causes: [{ items: [{ deploymentId: id }] }] });
  expect(await as((ctx) => listAttentionTargets(ctx, { kind: 'deployment_failed' }, scope()))).toEqual([other]);
  const theirs = await colleague.as((ctx) => listAttention(ctx, scope()));
  expect(find(theirs.groups, 'deployment_failed')?.count).toBe(2);
  expect(theirs.acknowledged).toEqual([]);

  const { appId } = await world.system(({ tx }) => tx.deployment.findUniqueOrThrow({ where: { id } }));
  const again = await world.tenant((ctx) => createDeployment(ctx, { appId: parseId('app', appId) }));
  await failDeployment(again.deploymentId, 'build.command_failed');
  expect((await group('deployment_failed'))?.count).toBe(2);
  expect(await hidden('deployment_failed')).toBeUndefined();
});

test('a whole group is acknowledged by cause, and restored', async () => {
  await failApps(9, ['build.command_failed', 'rollout.unhealthy', 'rollout.unhealthy']);
  const cause = { kind: 'deployment_failed', cause: 'rollout.unhealthy' } as const;
  expect(await as((ctx) => acknowledgeAttention(ctx, cause, scope()))).toEqual({ count: 6 });
  expect((await group('deployment_failed'))?.count).toBe(3);
  expect((await hidden('deployment_failed'))?.count).toBe(6);
  const all = { kind: 'deployment_failed' } as const;
  expect(await as((ctx) => restoreAttention(ctx, all, scope()))).toEqual({ count: 6 });
  expect((await group('deployment_failed'))?.count).toBe(9);
});

test('a member sees and acknowledges only what their grants reach', async () => {
  await failApps(2, ['build.command_failed']);
  const nothing: Reach = { everywhere: false, projectIds: [], environmentIds: [] };
  const blind: AttentionReach = {
    apps: nothing,
    deployments: nothing,
    approvals: nothing,
    secrets: nothing,
    domains: nothing,
    servers: false,
  };
  await world.system(({ tx }) => tx.server.updateMany({ data: { connectedGateway: null } }));
  expect(await attention(blind)).toEqual({ groups: [], acknowledged: [] });
  expect(await as((ctx) => acknowledgeAttention(ctx, { kind: 'deployment_failed' }, scope(blind)))).toEqual({
    count: 0,
  });
  expect(await as((ctx) => acknowledgeAttention(ctx, { kind: 'server_offline' }, scope(blind)))).toEqual({ count: 0 });
  const { id, projectId } = await world.system(({ tx }) => tx.environment.findFirstOrThrow());
  const environment = { ...nothing, environmentIds: [id] };
  expect((await group('deployment_failed', { ...blind, deployments: environment }))?.count).toBe(2);
  const there = { ...nothing, projectIds: [projectId] };
  expect((await group('deployment_failed', { ...blind, deployments: there }))?.count).toBe(2);
  const elsewhere = { ...nothing, environmentIds: [newId('env')] };
  expect(await attention({ ...blind, deployments: elsewhere })).toMatchObject({ groups: [] });
});

test("another organization's problems are never counted, and cannot be acknowledged", async () => {
  const foreign = await insertOrganizationRows(db.database, 'foreign');
  await world.system(({ tx }) =>
    tx.deployment.update({ where: { id: foreign.deploymentId }, data: { state: 'failed' } }),
  );
  expect(JSON.stringify(await attention())).not.toContain(foreign.appId);
  expect(await attention()).toEqual({ groups: [], acknowledged: [] });
  const input = { kind: 'deployment_failed', subject: foreign.placementId } as const;
  expect(await as((ctx) => acknowledgeAttention(ctx, input, scope()))).toEqual({ count: 0 });
  expect(await world.system(({ tx }) => tx.acknowledgement.count({ where: { memberId: person.memberId } }))).toBe(0);
});

test('a service account has no acknowledgements', async () => {
  const machine = { kind: 'token', tokenId: newId('tok'), userId: null } as const;
  const call = world.tenant((ctx) =>
    acknowledgeAttention({ ...ctx, actor: machine }, { kind: 'deployment_failed' }, scope()),
  );
  await expect(call).rejects.toMatchObject({ code: 'token.person_only' });
  expect(await world.tenant((ctx) => listAttention({ ...ctx, actor: machine }, scope()))).toEqual({
    groups: [],
    acknowledged: [],
  });
});

test('an approval waits for those who may give it, but not for who requested it', async () => {
  const { appId, deploymentId } = await world.createApp('Shop');
  await world.advance(deploymentId ?? '');
  await world.finish(deploymentId ?? '');
  await world.tenant(async (ctx) => {
    const { id } = await ctx.tx.environment.findFirstOrThrow();
    await updateEnvironment(ctx, { environmentId: parseId('env', id), protected: true });
  });
  const wish = await world.tenant((ctx) => createDeployment(ctx, { appId }));
  expect(await group('approval')).toMatchObject({
    title: '1 deployment waits for your approval',
    causes: [
      {
        items: [
          {
            title: 'Approve deployment 2 of Shop to Production',
            detail: `Newest commit of main. Requested by Owner of acme.`,
            deploymentId: wish.deploymentId,
          },
        ],
      },
    ],
  });
  const byOwner = await world.tenant((ctx) => listAttention(ctx, scope()));
  expect(find(byOwner.groups, 'approval')).toBeUndefined();
  const approvals: Reach = { everywhere: false, projectIds: [], environmentIds: [] };
  expect(await group('approval', { ...wholeAttention, approvals })).toBeUndefined();
  const viaToken = await as((ctx) =>
    listAttention({ ...ctx, actor: { kind: 'token', tokenId: newId('tok'), userId: person.userId } }, scope()),
  );
  expect(find(viaToken.groups, 'approval')).toBeUndefined();
  // A member who retried the push of another may not approve it.
  const retriedBy = (actorUserId: string | null) =>
    world.system(({ tx }) => tx.deployment.update({ where: { id: wish.deploymentId }, data: { actorUserId } }));
  await retriedBy(person.userId);
  expect(await group('approval')).toBeUndefined();
  await retriedBy(null);
  expect(await group('approval')).toMatchObject({ count: 1 });
  // It is no stuck deployment, however long it waits.
  world.clock.forward(60 * 60_000);
  expect(await group('deployment_stuck')).toBeUndefined();
  await as((ctx) => approveDeployment(ctx, wish));
  expect(await group('approval')).toBeUndefined();
});

test('a deployment is stuck if nothing is in front of it for 15 minutes, or its build exceeds its deadline', async () => {
  const first = await world.createApp('First');
  const second = await world.createApp('Second');
  await world.advance(first.deploymentId ?? '');
  const endAt = (deadlineAt: Date) =>
    world.system(({ tx }) => tx.deployment.update({ where: { id: first.deploymentId ?? '' }, data: { deadlineAt } }));
  await endAt(new Date(world.clock.now().getTime() + 3_600_000));
  world.clock.forward(16 * 60_000);
  // The only build slot of the server is in use.
  const slots = { perServer: 1, perOrganization: 8 };
  const stuck = async () =>
    (
      await as((ctx) =>
        listAttentionTargets(ctx, { kind: 'deployment_stuck' }, { reach: wholeAttention, buildSlots: slots }),
      )
    ).sort();
  expect(await stuck()).toEqual([]);
  await endAt(world.clock.now());
  world.clock.forward(1);
  expect(await stuck()).toEqual([first.deploymentId]);
  await world.finish(first.deploymentId ?? '');
  expect(await stuck()).toEqual([second.deploymentId]);
  await world.advance(second.deploymentId ?? '');
  expect(await stuck()).toEqual([]);
});

test('servers: offline, short of disk, with a refused state or a wrong clock; another outage shows again', async () => {
  const change = (data: Prisma.ServerUpdateManyMutationInput) =>
    world.system(({ tx }) => tx.server.updateMany({ where: { id: world.serverId }, data }));
  const kinds = async () => (await attention()).groups.map(({ kind }) => kind);
  expect(await kinds()).toEqual([]);
  await change({
    refusedReason: 'Upgrade the agent.',
    clockOffsetMs: -3500,
    disk: { freeBytes: 1e9, totalBytes: 1e11, warning: 'Only 0.9 GiB of 93.1 GiB are free.' },
  });
  expect(await kinds()).toEqual(['disk_short', 'server_refused', 'clock_offset']);
  expect((await group('disk_short'))?.causes[0]?.items[0]).toMatchObject({
    title: 'Server local is running out of disk space',
    detail: 'Only 0.9 GiB of 93.1 GiB are free.',
    serverId: world.serverId,
  });
  await as((ctx) => acknowledgeAttention(ctx, { kind: 'disk_short' }, scope()));
  await change({ disk: { freeBytes: 1.1e9, totalBytes: 1e11, warning: 'Only 1.0 GiB of 93.1 GiB are free.' } });
  expect(await group('disk_short')).toBeUndefined();

  await change({ connectedGateway: null, lastSeenAt: world.clock.now() });
  expect(await kinds()).toEqual(['server_offline', 'server_refused']);
  await as((ctx) => acknowledgeAttention(ctx, { kind: 'server_offline' }, scope()));
  expect(await group('server_offline')).toBeUndefined();
  world.clock.forward(60_000);
  await change({ lastSeenAt: world.clock.now() });
  expect(await group('server_offline')).toMatchObject({ title: '1 offline server', count: 1 });
});
