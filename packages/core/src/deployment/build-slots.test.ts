// Tests for build slots: the limits of concurrent builds on a server and in an organization.

import { create } from '@bufbuild/protobuf';
import { BuildStatusSchema, StepState, WorkState } from '@fairlead/contract/agent';
import { newId, parseId } from '@fairlead/contract/ids';
import { changeChannel, changeNotice } from '@fairlead/contract/notify';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { updateConfig } from '../app/index.ts';
import type { Reach } from '../role/index.ts';
import { buildStatus, type TestWorld, testWorld } from '../testing/index.ts';
import { defaultBuildSlots } from './build-slots.ts';
import { createDeployment, getDeployment, listDeployments } from './index.ts';

const failure = { code: 'build.command_failed', message: 'No.' };

let db: TestDatabase | undefined;
let world: TestWorld;
const queued: string[] = [];

beforeEach(async () => {
  await db?.drop();
  db = await testDatabase();
  world = await testWorld(db.database);
  queued.length = 0;
});
afterAll(() => db?.drop());

/** Creates an app that builds on that server, with one waiting deployment. */
async function waiting(name: string, buildServerId?: string): Promise<string> {
  const { appId } = await world.createApp(name, { host: `${name}.example.test`, deployNow: false });
  if (buildServerId !== undefined) {
    const settings = { buildServerId: parseId('srv', buildServerId) };
    await world.tenant((ctx) => updateConfig(ctx, { appId, settings }));
  }
  const { deploymentId } = await world.tenant((ctx) => createDeployment(ctx, { appId }));
  queued.push(deploymentId);
  // The next one waits less.
  world.clock.forward(1);
  return deploymentId;
}
async function addServer(name: string): Promise<string> {
  const id = newId('srv');
  const at = world.clock.now();
  await world.system(({ tx }) =>
    tx.server.create({
      data: {
        id,
        organizationId: world.organizationId,
        name,
        publicKey: new Uint8Array(32).fill(name.length),
        capabilities: ['build.plan', 'transfer'],
        connectedGateway: 'test-gateway',
        connectedAt: at,
        lastSeenAt: at,
      },
    }),
  );
  return id;
}
const advanceAll = async () => {
  for (const id of queued) await world.advance(id);
};
const get = (id: string) => world.tenant((ctx) => getDeployment(ctx, { deploymentId: parseId('dep', id) }));
const states = async () => Promise.all(queued.map(async (id) => (await get(id)).state));

test('a server builds two at a time; the third waits and says so, and begins when one of them is over', async () => {
  const [first = '', , third = ''] = [await waiting('a'), await waiting('b'), await waiting('c')];
  await advanceAll();
  expect(await states()).toEqual(['building', 'building', 'queued']);
  expect((await get(third)).waiting).toEqual({
    reason: 'build_slot',
    sentence: '2 builds ahead: a #1 and b #1.',
    queue: {
      aheadCount: 2,
      ahead: [
        { deploymentId: first, appName: 'a', number: 1 },
        { deploymentId: queued[1], appName: 'b', number: 1 },
      ],
    },
  });

  await world.report({
    builds: [buildStatus(first, WorkState.FAILED, failure)],
  });
  await advanceAll();
  expect(await states()).toEqual(['failed', 'building', 'building']);
});

test('all servers of an organization together build eight, and another organization is not held up by them', async () => {
  await world.system(({ tx }) => tx.server.updateMany({ data: { capabilities: ['build.plan', 'transfer'] } }));
  const servers: string[] = [];
  for (const name of ['i', 'ii', 'iii', 'iiii', 'iiiii']) servers.push(await addServer(name));
  for (let at = 0; at < 9; at += 1) await waiting(`app-${at}`, servers[Math.floor(at / 2)]);
  await advanceAll();
  expect((await states()).filter((state) => state === 'building')).toHaveLength(8);
  expect((await get(queued[8] ?? '')).state).toBe('queued');

  const other = await testWorld(db?.database as TestDatabase['database'], 'other', world.clock);
  const { deploymentId } = await other.createApp('theirs', { host: 'theirs.example.test' });
  await other.advance(deploymentId ?? '');
  const theirs = parseId('dep', deploymentId ?? '');
  expect((await other.tenant((ctx) => getDeployment(ctx, { deploymentId: theirs }))).state).toBe('building');
});

test('two workers that take the last slot at the same moment get one of them', async () => {
  for (const name of ['a', 'b', 'c', 'd']) await waiting(name);
  await Promise.all(queued.map((id) => world.advance(id)));
  expect((await states()).filter((state) => state === 'building')).toHaveLength(2);
});

const step = (name: string, state: StepState, startedMs: number, finishedMs = 0) => ({
  name,
  state,
  startedUnixMs: BigInt(startedMs),
  finishedUnixMs: BigInt(finishedMs),
});
const building = (id: string, steps: ReturnType<typeof step>[]) =>
  create(BuildStatusSchema, { deploymentId: id, state: WorkState.RUNNING, steps });

test('a build that waits on its server counts as queued, and its steps add up to its duration', async () => {
  const [first, second] = [await waiting('a'), await waiting('b')];
  await advanceAll();
  const start = world.clock.now().getTime();
  await world.report({ builds: [building(first, [step('clone', StepState.RUNNING, start)]), building(second, [])] });
  world.clock.forward(50_000);
  expect((await get(first)).waiting).toMatchObject({ reason: 'building', queue: null });
  const awaiting = async () => {
    const { items } = await world.tenant((ctx) => listDeployments(ctx, { limit: 10, order: 'oldest' }));
    return items.map(({ awaitsBuild }) => awaitsBuild);
  };
  expect(await awaiting()).toEqual([false, true]);
  expect(await get(second)).toMatchObject({
    state: 'building',
    waiting: { reason: 'build_slot', sentence: '1 build ahead: a #1.' },
    steps: [{ name: 'queue', state: 'running' }, { name: 'clone', state: 'pending' }, {}, {}, {}, {}, {}, {}],
  });

  await world.report({ builds: [buildStatus(first, WorkState.FAILED, failure), building(second, [])] });
  expect((await get(second)).waiting).toMatchObject({ reason: 'building', queue: null });
  expect(await awaiting()).toEqual([false, false]);
  const begun = world.clock.now().getTime();
  const steps = [
    step('clone', StepState.DONE, begun, begun + 2000),
    step('build', StepState.FAILED, begun + 2100, begun + 3000),
  ];
  world.clock.forward(4000);
  await world.report({
    builds: [
      {
        ...building(second, steps),
        ...buildStatus(second, WorkState.FAILED, failure),
        steps: building(second, steps).steps,
      },
    ],
  });
  const ended = await get(second);
  expect(ended).toMatchObject({ state: 'failed', durationMs: 54_001 });
  expect(ended.steps.map(({ durationMs }) => durationMs).slice(0, 3)).toEqual([50_001, 2000, 2000]);
  expect(ended.steps.reduce((sum, each) => sum + (each.durationMs ?? 0), 0)).toBe(ended.durationMs);
});

test('builds that wait longer are ahead, unless they await approval or their own app', async () => {
  await waiting('a');
  await waiting('b');
  await advanceAll();
  // Behind the running deployment of its own app.
  queued.push(
    (await world.tenant(async (ctx) => createDeployment(ctx, { appId: (await get(queued[0] ?? '')).appId })))
      .deploymentId,
  );
  await waiting('c');
  const last = await waiting('d');
  await advanceAll();
  expect((await get(last)).waiting?.sentence).toBe('3 builds ahead: a #1, b #1 and c #1.');

  await waiting('e');
  await advanceAll();
  expect((await get(queued.at(-1) ?? '')).waiting?.sentence).toBe('4 builds ahead: a #1, b #1, c #1 and 1 more.');
});

test('builds of projects that the reader may not see are counted and not named', async () => {
  for (const name of ['a', 'b', 'c']) await waiting(name);
  await advanceAll();
  const { environmentId } = await get(queued[0] ?? '');
  const read = (reach: Reach) =>
    world.tenant((ctx) =>
      getDeployment(ctx, { deploymentId: parseId('dep', queued[2] ?? '') }, defaultBuildSlots, reach),
    );
  expect((await read({ everywhere: false, projectIds: [], environmentIds: [environmentId] })).waiting?.sentence).toBe(
    '2 builds ahead: a #1 and b #1.',
  );
  expect((await read({ everywhere: false, projectIds: [], environmentIds: [] })).waiting).toEqual({
    reason: 'build_slot',
    sentence: '2 builds ahead.',
    queue: { aheadCount: 2, ahead: [] },
  });
});

test('pages of waiting builds are notified when one ends, so that their position is live', async () => {
  const [first = '', second = '', third = ''] = [await waiting('a'), await waiting('b'), await waiting('c')];
  await advanceAll();
  const notified = new Set<string>();
  const both = Promise.withResolvers<void>();
  const stop = await db?.database.listen(changeChannel, {
    onNotice: (payload) => {
      notified.add(changeNotice.parse(JSON.parse(payload)).id);
      if (notified.has(second) && notified.has(third)) both.resolve();
    },
    onGap: () => both.reject(new Error('notices were lost')),
  });
  await world.report({ builds: [buildStatus(first, WorkState.FAILED, failure)] });
  await both.promise;
  await stop?.();
  expect((await get(third)).waiting?.queue?.aheadCount ?? 0).toBeLessThan(2);
});
