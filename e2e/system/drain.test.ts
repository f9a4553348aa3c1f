// Tests of a drain on two real servers: an app moves from one to the other without a lost request, also from a server that
// is dead.

import { drainServer } from '@fairlead/core/placement';
import { moveApps } from '@fairlead/core/volume-move';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { waitFor } from '../../tools/lib/wait.ts';
import { loaded, loadedFor } from './harness/apps.ts';
import { type Fleet, type FleetServer, openFleet } from './harness/fleet.ts';
import { System } from './harness/system.ts';

const HOST = 'moving.localhost';
const live = { state: 'live', failureMessage: null };
/** The API verifies rights; this test calls core. */
const isAllowed = () => Promise.resolve();

let system: System;
let fleet: Fleet;
let east: FleetServer;
let west: FleetServer;

beforeAll(async () => {
  system = await System.start();
  fleet = await openFleet(system);
  east = await fleet.addServer('east');
  west = await fleet.addServer('west');
}, 180_000);
afterAll(async () => {
  await fleet?.close();
  await system?.stop();
});

const drain = (server: FleetServer, drained = true) =>
  system.asSystem((ctx) => drainServer(ctx, { serverId: server.id, drained }, isAllowed));

/** Without an app, a server has no certificate for its host. */
const isGone = (host: string) =>
  east.get(host).then(
    () => undefined,
    (error: NodeJS.ErrnoException) => error.code === 'EPROTO' || undefined,
  );

test('an app moves away from a drained server, which no deployment reaches', { timeout: 400_000 }, async () => {
  const repository = await system.repositories.create('moving', loaded('moving 1'));
  const url = fleet.repositoryUrl(repository.url);
  expect(await system.createApp('moving', { url }, '', east.id)).toMatchObject(live);
  const { id: appId } = await system.app('moving');
  const load = east.load(HOST);
  try {
    await load.more(3);
    expect((await drain(east)).apps).toMatchObject([{ slug: 'moving', stays: 'only_here' }]);
    await expect(system.product.verbs.createDeployment({ appId })).rejects.toMatchObject({ code: 'server.drained' });

    await system.product.verbs.attachServer({ appId, serverId: west.id });
    await repository.commit('Second version', loadedFor('moving 2', {}));
    expect(await system.deploy(appId)).toMatchObject({ ...live, servers: [{ serverId: west.id, state: 'live' }] });
    expect((await west.get(HOST)).body).toBe('moving 2');
    // The drained server keeps its release until the app leaves it.
    expect((await east.get(HOST)).body).toBe('moving 1');
    await load.more(3);
  } finally {
    await load.stop();
  }
  expect(load.result().failures).toEqual([]);

  expect((await drain(east)).apps).toEqual([]);
  await waitFor(() => isGone(HOST), { what: 'the end of the app in the east', timeoutMs: 60_000 });
  const restart = await system.product.verbs.restartApp({ appId });
  expect(await system.waitForDeployment(restart.deploymentId)).toMatchObject(live);
  expect((await west.get(HOST)).body).toBe('moving 2');
});

test('apps of a dead server move to another one, and it drops them when it is back', { timeout: 400_000 }, async () => {
  await drain(east, false);
  const host = 'stranded.localhost';
  const repository = await system.repositories.create('stranded', loaded('stranded 1'));
  const url = fleet.repositoryUrl(repository.url);
  expect(await system.createApp('stranded', { url }, '', east.id)).toMatchObject(live);
  expect((await east.get(host)).body).toBe('stranded 1');
  await east.namespace.cut();
  try {
    const isLost = async () => (await east.summary()).state === 'offline';
    await waitFor(isLost, { what: 'the loss of the server', timeoutMs: 120_000 });
    await drain(east);
    const { items } = await system.asSystem((ctx) =>
      moveApps(ctx, { serverId: east.id, targetServerId: west.id }, isAllowed),
    );
    expect(items).toHaveLength(1);
    for (const { deploymentId } of items) {
      if (deploymentId === null) throw new Error('the app moved without a deployment');
      expect(await system.waitForDeployment(deploymentId)).toMatchObject(live);
    }
    expect((await west.get(host)).body).toBe('stranded 1');
    expect((await drain(east)).apps).toEqual([]);
    // It keeps serving what it had, because the new state can't reach it.
    expect(await east.getInside(host)).toBe('stranded 1');
  } finally {
    await east.namespace.mend();
  }
  await waitFor(() => isGone(host), { what: 'the end of the app in the east', timeoutMs: 120_000 });
  expect((await west.get(host)).body).toBe('stranded 1');
});
