// Two servers of one organization, each in a network of its own: what happens to one is nothing to the other.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { waitFor } from '../../tools/lib/wait.ts';
import { loaded } from './harness/apps.ts';
import { type Fleet, type FleetServer, openFleet } from './harness/fleet.ts';
import type { Repository } from './harness/repository.ts';
import { System } from './harness/system.ts';

interface Place {
  readonly server: FleetServer;
  readonly repository: Repository;
  readonly slug: string;
  readonly host: string;
}

let system: System;
let fleet: Fleet;
let east: Place;
let west: Place;

beforeAll(async () => {
  system = await System.start();
  fleet = await openFleet(system);
  [east, west] = await Promise.all([open('east'), open('west')]);
}, 180_000);
afterAll(async () => {
  await fleet?.close();
  await system?.stop();
});

async function open(name: string): Promise<Place> {
  const slug = `app-${name}`;
  const server = await fleet.addServer(name);
  const repository = await system.repositories.create(slug, loaded(`${name} 1`));
  return { server, repository, slug, host: `${slug}.localhost` };
}

const isOnline = async (place: Place) => (await place.server.summary()).state === 'online';

test('each deploys its own app at the same time, and serves only that', async () => {
  const deployed = await Promise.all(
    [east, west].map(({ slug, repository, server }) =>
      system.createApp(slug, { url: fleet.repositoryUrl(repository.url) }, '', server.id),
    ),
  );
  expect(deployed.map(({ state, failureMessage }) => [state, failureMessage])).toEqual([
    ['live', null],
    ['live', null],
  ]);
  expect(await east.server.get(east.host)).toEqual({ status: 200, body: 'east 1' });
  expect(await west.server.get(west.host)).toEqual({ status: 200, body: 'west 1' });
  // No certificate either, for what is not here.
  await expect(east.server.get(west.host)).rejects.toMatchObject({ code: 'EPROTO' });
});

test('one is cut off: it serves on, the other deploys; what was asked of it meanwhile is done when it is back', {
  timeout: 240_000,
}, async () => {
  const load = west.server.load(west.host);
  await east.server.namespace.cut();
  try {
    await waitFor(async () => !(await isOnline(east)), { what: 'the loss in the list of servers', timeoutMs: 90_000 });
    expect(await east.server.getInside(east.host)).toBe('east 1');

    await east.repository.commit('Second version', loaded('east 2'));
    const waiting = await system.product.verbs.createDeployment({ appId: (await system.app(east.slug)).id });
    await west.repository.commit('Second version', loaded('west 2'));
    expect(await system.deploy((await system.app(west.slug)).id)).toMatchObject({ state: 'live' });
    expect((await west.server.get(west.host)).body).toBe('west 2');
    expect(await east.server.getInside(east.host)).toBe('east 1');

    await east.server.namespace.mend();
    expect(await system.finished(waiting.deploymentId)).toMatchObject({ state: 'live', failureMessage: null });
    expect((await east.server.get(east.host)).body).toBe('east 2');
    expect(await isOnline(east)).toBe(true);
    expect((await load.stop()).failures).toEqual([]);
  } finally {
    await east.server.namespace.mend();
    await load.stop();
  }
});
