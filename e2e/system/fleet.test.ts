// Tests of two servers of one organization in networks of their own: a failure of one does not affect the other, and a
// deployment to both goes live on both or on neither.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AppId, DeploymentId, ReleaseId } from '@fairlead/contract/ids';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { waitFor } from '../../tools/lib/wait.ts';
import { loaded, loadedFor } from './harness/apps.ts';
import { type Fleet, type FleetServer, openFleet } from './harness/fleet.ts';
import type { Repository } from './harness/repository.ts';
import { System } from './harness/system.ts';

const SHARED = 'both';
const HOST = `${SHARED}.localhost`;
const MEGABYTE = 1024 * 1024;
/** The control plane allows a server two minutes to take up a state, and the sweep follows within another. */
const LOSS_TIMEOUT_MS = 240_000;

interface Site {
  readonly server: FleetServer;
  readonly repository: Repository;
  readonly slug: string;
  readonly host: string;
}

let system: System;
let fleet: Fleet;
let east: Site;
let west: Site;
/** App on both servers. */
let shared: { readonly appId: AppId; readonly repository: Repository };

beforeAll(async () => {
  system = await System.start();
  fleet = await openFleet(system);
  [east, west] = await Promise.all([open('east'), open('west')]);
}, 180_000);
afterAll(async () => {
  await fleet?.close();
  await system?.stop();
});

async function open(name: string): Promise<Site> {
  const slug = `app-${name}`;
  const server = await fleet.addServer(name);
  const repository = await system.repositories.create(slug, loaded(`${name} 1`));
  return { server, repository, slug, host: `${slug}.localhost` };
}

const isOnline = async (place: Site) => (await place.server.summary()).state === 'online';
const serving = () => Promise.all([east, west].map(async ({ server }) => (await server.get(HOST)).body));

/** Returns the outcome of the shared app's deployment: its state, its failure, and the rollout on each server. */
async function ended(deploymentId: DeploymentId) {
  const { state, failureMessage, servers } = await system.waitForDeployment(deploymentId, LOSS_TIMEOUT_MS);
  return { state, failureMessage, servers: servers.map((each) => each.state) };
}
async function deployShared(subject: string, files: Readonly<Record<string, string>>) {
  await shared.repository.commit(subject, files);
  const { deploymentId } = await system.product.verbs.createDeployment({ appId: shared.appId });
  return { deploymentId, ...(await ended(deploymentId)) };
}
const live = { state: 'live', failureMessage: null, servers: ['live', 'live'] };

/** Runs `work` under load on both servers; returns the failed requests. */
async function underLoad(work: () => Promise<void>): Promise<readonly unknown[]> {
  const loads = [east, west].map(({ server }) => server.load(HOST));
  try {
    await work();
    await Promise.all(loads.map((load) => load.more(3)));
  } finally {
    await Promise.all(loads.map((load) => load.stop()));
  }
  return loads.flatMap((load) => load.result().failures);
}

test('each server deploys its own app at the same time, and serves only that', async () => {
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
  // A server has no certificate for an app that is not on it.
  await expect(east.server.get(west.host)).rejects.toMatchObject({ code: 'EPROTO' });
});

test('an app on both is built on the first and fetched by the other, which verifies it', async () => {
  const repository = await system.repositories.create(SHARED, loaded('both 1'));
  const first = await system.createApp(SHARED, { url: fleet.repositoryUrl(repository.url) }, '', east.server.id);
  expect([first.state, first.failureMessage]).toEqual(['live', null]);
  shared = { appId: first.appId, repository };
  await system.product.verbs.attachServer({ appId: first.appId, serverId: west.server.id });

  const { deploymentId, ...end } = await deployShared('Second version', loadedFor('both 2', {}));
  expect(end).toEqual(live);
  expect(await serving()).toEqual(['both 2', 'both 2']);
  const { steps } = await system.product.verbs.getDeployment({ deploymentId });
  expect(steps.find(({ name }) => name === 'fetch')?.state).toBe('done');
  const log = await system.log(deploymentId);
  expect(log.filter((line) => line.startsWith('Fetching the artifact'))).toHaveLength(1);

  const { items } = await system.product.verbs.listReleases({ appId: first.appId, limit: 1 });
  const hex = (items[0]?.artifactDigest ?? '').slice('sha256:'.length);
  const got = readFileSync(join(west.server.folder, 'artifacts', `${hex}.tar.zst`));
  expect(createHash('sha256').update(got).digest('hex')).toBe(hex);
  // Build caches exist only on the server that built the app.
  const caches = ({ server }: Site) =>
    readdirSync(join(server.folder, 'caches')).filter((name) => name.includes(first.appId));
  expect([caches(east).length > 0, caches(west)]).toEqual([true, []]);
});

test('scaling, restart, rolling deployment and rollback under load change both servers without a failed request', {
  timeout: 240_000,
}, async () => {
  const { verbs } = system.product;
  const { appId } = shared;
  const instances = async () => {
    const all = (await system.app(SHARED)).instances.filter(({ state }) => state === 'healthy');
    return [east, west].map(({ server }) => all.filter(({ serverId }) => serverId === server.id).map(({ pid }) => pid));
  };
  const both = (count: number) =>
    waitFor(async () => (await instances()).every((pids) => pids.length === count) || undefined, {
      what: `${count} healthy instances on both`,
      timeoutMs: 60_000,
    });
  const failures = await underLoad(async () => {
    await verbs.scaleApp({ appId, instances: 2 });
    await both(2);
    const before = (await instances()).flat();
    const restart = await verbs.restartApp({ appId });
    expect(await ended(restart.deploymentId)).toEqual(live);
    await both(2);
    expect((await instances()).flat().filter((pid) => before.includes(pid))).toEqual([]);

    await verbs.updateConfig({ appId, settings: { rollout: { kind: 'rolling', batchSize: 1 } } });
    const { items } = await verbs.listReleases({ appId, limit: 1 });
    expect(await deployShared('Third version', loadedFor('both 3', {}))).toMatchObject(live);
    expect(await serving()).toEqual(['both 3', 'both 3']);
    const releaseId = items[0]?.id as ReleaseId;
    const rollback = await verbs.rollbackApp({ appId, releaseId });
    expect(await ended(rollback.deploymentId)).toEqual(live);
    expect(await serving()).toEqual(['both 2', 'both 2']);
  });
  expect(failures).toEqual([]);
});

test('a deployment that fails on the second server is rolled back on the first, unnoticed by visitors', {
  timeout: 240_000,
}, async () => {
  const failures = await underLoad(async () => {
    const failsAt = west.server.httpsAddress;
    const { state, failureMessage, servers } = await deployShared(
      'Fails in the west',
      loadedFor('both 4', { failsAt }),
    );
    expect([state, servers]).toEqual(['failed', ['reverted', 'failed']]);
    expect(failureMessage).toMatch(/^On west: .+ The other servers are unchanged\.$/);
    expect(await serving()).toEqual(['both 2', 'both 2']);
  });
  expect(failures).toEqual([]);
});

test('an interrupted transfer resumes once the link and the gateway are back', {
  timeout: 240_000,
}, async () => {
  await shared.repository.commit('A large one', loadedFor('both 5', { ballastBytes: 100 * MEGABYTE }));
  const { deploymentId } = await system.product.verbs.createDeployment({ appId: shared.appId });
  const fetching = async () => {
    const { steps } = await system.product.verbs.getDeployment({ deploymentId });
    return steps.some(({ name, state }) => name === 'fetch' && state === 'running') || undefined;
  };
  await waitFor(fetching, { what: 'the transfer', timeoutMs: 90_000, everyMs: 20 });
  await west.server.namespace.cut();
  try {
    process.kill(system.servicePid('gateway') ?? 0, 'SIGKILL');
  } finally {
    await west.server.namespace.mend();
  }
  expect(await ended(deploymentId)).toEqual(live);
  expect(await serving()).toEqual(['both 5', 'both 5']);
  expect(system.logOf('west')).toContain('a file comes in parts');
});

test('a server that is cut off keeps serving, the other deploys, and a deployment to both fails with a message and no change', {
  timeout: 400_000,
}, async () => {
  const load = east.server.load(east.host);
  await west.server.namespace.cut();
  try {
    // The deployment is live in the east, and the west never takes it up.
    const lost = deployShared('Nobody answers in the west', loadedFor('both 6', {}));
    await waitFor(async () => !(await isOnline(west)), { what: 'the loss in the list of servers', timeoutMs: 90_000 });
    expect(await west.server.getInside(west.host)).toBe('west 1');
    expect(await west.server.getInside(HOST)).toBe('both 5');

    await west.repository.commit('Second version', loaded('west 2'));
    const waiting = await system.product.verbs.createDeployment({ appId: (await system.app(west.slug)).id });
    await east.repository.commit('Second version', loaded('east 2'));
    expect(await system.deploy((await system.app(east.slug)).id)).toMatchObject({ state: 'live' });
    expect((await east.server.get(east.host)).body).toBe('east 2');

    const { state, failureMessage, servers } = await lost;
    expect([state, servers]).toEqual(['failed', ['reverted', 'failed']]);
    expect(failureMessage).toMatch(/^On west: A server did not finish its part in time/);
    expect((await east.server.get(HOST)).body).toBe('both 5');
    expect(await west.server.getInside(HOST)).toBe('both 5');

    await west.server.namespace.mend();
    // The first deployment after the outage may have been given up by now; the next one succeeds.
    await system.waitForDeployment(waiting.deploymentId, LOSS_TIMEOUT_MS);
    expect(await system.deploy((await system.app(west.slug)).id)).toMatchObject({
      state: 'live',
      failureMessage: null,
    });
    expect((await west.server.get(west.host)).body).toBe('west 2');
    expect(await isOnline(west)).toBe(true);
    expect(await serving()).toEqual(['both 5', 'both 5']);
    expect((await load.stop()).failures).toEqual([]);
  } finally {
    await west.server.namespace.mend();
    await load.stop();
  }
});
