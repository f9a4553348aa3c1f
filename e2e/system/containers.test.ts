// Tests of image apps through the whole product: built from a Dockerfile with a real engine, run as containers on two
// servers, redeployed under load and rolled back.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ROOT } from '../../tools/lib/command.ts';
import { waitFor } from '../../tools/lib/wait.ts';
import { loaded } from './harness/apps.ts';
import { type Engine, type Registry, startEngine, startRegistry } from './harness/engine.ts';
import { type Fleet, type FleetServer, openFleet } from './harness/fleet.ts';
import type { Files, Repository } from './harness/repository.ts';
import { System } from './harness/system.ts';

let system: System;
let fleet: Fleet;
let engine: Engine;
let registry: Registry;
let server: FleetServer;
/** Second server: its engine has no image at all, and its network knows no registry. */
let quay: FleetServer;
let quayEngine: Engine;
/** Repository of the app that is upgraded, and later runs on both servers. */
let crane: Repository;

beforeAll(async () => {
  system = await System.start();
  fleet = await openFleet(system);
  [server, quay] = await Promise.all([addHarbour(), addQuay()]);
}, 180_000);
afterAll(async () => {
  await fleet?.close();
  await system?.stop();
}, 120_000);

function addHarbour(): Promise<FleetServer> {
  return fleet.addServer('harbour', async ({ prefix }) => {
    const mirror = await startRegistry(prefix, { username: '', password: '' });
    engine = await startEngine(prefix, mirror);
    registry = await startRegistry(prefix);
    await engine.importBase(mirror);
    const undo = async () => {
      await registry.close();
      await mirror.close();
      await engine.close();
    };
    return { environment: engine.environment, undo };
  });
}

function addQuay(): Promise<FleetServer> {
  return fleet.addServer('quay', async ({ prefix }) => {
    quayEngine = await startEngine(prefix);
    return { environment: quayEngine.environment, undo: () => quayEngine.close() };
  });
}

/** Returns the responses of both servers. */
const bodies = (host: string) => Promise.all([server, quay].map(async (one) => (await one.get(host)).body));

const imageOf = async (one: Engine, deploymentId: string) =>
  (await one.containers()).find(({ Labels }) => Labels['dev.fairlead.deployment'] === deploymentId)?.ImageID;

const contained = (text: string): Files => ({
  ...loaded(text),
  Dockerfile: 'FROM node:24-slim\nWORKDIR /app\nCOPY . .\nUSER node\nCMD ["node", "server.js"]\n',
});

test('the Dockerfile example runs as a container with few privileges behind the proxy', {
  timeout: 240_000,
}, async () => {
  const file = (name: string) => readFileSync(join(ROOT, 'examples/hello-dockerfile', name), 'utf8');
  const repository = await system.repositories.create('hello-dockerfile', {
    Dockerfile: file('Dockerfile'),
    'server.js': file('server.js'),
  });
  const made = await system.createApp('boxed', { url: fleet.repositoryUrl(repository.url) }, '/', server.id);
  expect(made).toMatchObject({ state: 'live', failureMessage: null });
  expect(await server.get('boxed.localhost')).toEqual({ status: 200, body: 'Hello from a container\n' });

  const [container] = await engine.containers();
  expect(container?.Labels).toMatchObject({ 'dev.fairlead.app': made.appId, 'dev.fairlead.deployment': made.id });
  // The container has none of the capabilities that docs/containers.md grants to root, not even in its bounding set.
  const status = await engine.status(container?.Id ?? '');
  expect(status).toMatch(/^Uid:\t1000\t1000\t1000\t1000$/m);
  expect(status).toMatch(/^CapEff:\t0{16}$/m);
  expect(status).toMatch(/^CapBnd:\t0{16}$/m);
  expect(status).toMatch(/^NoNewPrivs:\t1$/m);
});

test('a new version takes over under load without a failed request, and a rollback restores the old one', {
  timeout: 300_000,
}, async () => {
  crane = await system.repositories.create('crane', contained('one'));
  const first = await system.createApp('crane', { url: fleet.repositoryUrl(crane.url) }, '/', server.id);
  expect(first).toMatchObject({ state: 'live', failureMessage: null });
  const load = server.load('crane.localhost');
  try {
    await crane.commit('Second version', contained('two'));
    expect(await system.deploy(first.appId)).toMatchObject({ state: 'live', failureMessage: null });
    expect((await server.get('crane.localhost')).body).toBe('two');

    const { releaseId } = first;
    if (releaseId === null) throw new Error('a live deployment has a release');
    const { deploymentId } = await system.product.verbs.rollbackApp({ appId: first.appId, releaseId });
    expect(await system.waitForDeployment(deploymentId)).toMatchObject({ state: 'live', failureMessage: null });
    expect((await server.get('crane.localhost')).body).toBe('one');
  } finally {
    expect((await load.stop()).failures).toEqual([]);
  }
  // The engine has removed the stopped containers, too.
  await waitFor(
    async () =>
      (await engine.containers()).filter(({ Labels }) => Labels['dev.fairlead.app'] === first.appId).length === 1,
    { what: 'the end of the containers that were replaced', timeoutMs: 60_000 },
  );
});

test('an image built on one server runs on the other, which fetches and verifies it', {
  timeout: 240_000,
}, async () => {
  const { verbs } = system.product;
  const { id: appId } = await system.app('crane');
  await verbs.attachServer({ appId, serverId: quay.id });
  await crane.commit('Third version', contained('three'));
  const deployment = await system.deploy(appId);
  expect(deployment).toMatchObject({
    state: 'live',
    failureMessage: null,
    servers: [{ state: 'live' }, { state: 'live' }],
  });
  expect(await bodies('crane.localhost')).toEqual(['three', 'three']);

  const { items } = await verbs.listReleases({ appId, limit: 1 });
  const hex = (items[0]?.artifactDigest ?? '').slice('sha256:'.length);
  const got = readFileSync(join(quay.folder, 'artifacts', `${hex}.tar.zst`));
  expect(createHash('sha256').update(got).digest('hex')).toBe(hex);
  // Both have the same image by content, and the second server has no build inputs.
  const [here, there] = await Promise.all([engine, quayEngine].map((one) => imageOf(one, deployment.id)));
  expect(there).toMatch(/[0-9a-f]{64}/);
  expect(there).toBe(here);
  expect(await quayEngine.images()).toEqual([expect.stringMatching(/^fairlead\.invalid\/release\//)]);
});

test('an image in a private registry is pulled by digest with its sealed password, and refused without', {
  timeout: 300_000,
}, async () => {
  const image = await engine.publish(registry, 'shop', contained('published'));
  const { login } = registry;
  const wrong = await system.createImageApp('thief', image, { ...login, password: 'guessed' }, server.id);
  expect(await system.deploy(wrong)).toMatchObject({ state: 'failed', failureCode: 'build.container_failed' });

  const appId = await system.createImageApp('shop', image, login, server.id);
  // The other server has neither the password nor a route to the registry: it gets the image that was pulled once.
  await system.product.verbs.attachServer({ appId, serverId: quay.id });
  const deployment = await system.deploy(appId);
  expect(deployment).toMatchObject({ state: 'live', failureMessage: null, commitSubject: image });
  expect(await bodies('shop.localhost')).toEqual(['published', 'published']);
  expect((await system.log(deployment.id)).join('\n')).not.toContain(login.password);
});
