// Tests for build slots: the limits of concurrent builds on a server and in an organization.

import { WorkState } from '@fairlead/contract/agent';
import { newId, parseId } from '@fairlead/contract/ids';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { updateConfig } from '../app/index.ts';
import { buildStatus, type TestWorld, testWorld } from '../testing/index.ts';
import { createDeployment, getDeployment } from './index.ts';

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
  expect((await get(third)).waiting).toMatchObject({ reason: 'build_slot' });

  await world.report({
    builds: [buildStatus(first, WorkState.FAILED, { code: 'build.command_failed', message: 'No.' })],
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
