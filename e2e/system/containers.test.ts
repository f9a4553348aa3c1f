// Apps that are images, through the whole product: built from a Dockerfile on a server with a real engine, run as containers
// behind the proxy, redeployed under load, rolled back, and never restarted because the agent was.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ROOT } from '../../tools/lib/command.ts';
import { waitFor } from '../../tools/lib/wait.ts';
import { loaded } from './harness/apps.ts';
import { type Engine, type Registry, startEngine, startRegistry } from './harness/engine.ts';
import { type Fleet, type FleetServer, openFleet } from './harness/fleet.ts';
import type { Files } from './harness/repository.ts';
import { System } from './harness/system.ts';

let system: System;
let fleet: Fleet;
let engine: Engine;
let registry: Registry;
let server: FleetServer;

beforeAll(async () => {
  system = await System.start();
  fleet = await openFleet(system);
  server = await fleet.addServer('harbour', async ({ prefix }) => {
    engine = await startEngine(prefix);
    registry = await startRegistry(prefix);
    const undo = async () => {
      await registry.close();
      await engine.close();
    };
    return { environment: engine.environment, undo };
  });
}, 180_000);
afterAll(async () => {
  await fleet?.close();
  await system?.stop();
}, 120_000);

const contained = (text: string): Files => ({
  ...loaded(text),
  Dockerfile: 'FROM node:24-slim\nWORKDIR /app\nCOPY . .\nUSER node\nCMD ["node", "server.js"]\n',
});

test('the example with a Dockerfile runs as a container with few rights, and is asked for through the proxy', {
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
  expect(await engine.inspect(container?.Id ?? '')).toMatchObject({
    Config: { User: 'node' },
    HostConfig: { CapDrop: ['ALL'], SecurityOpt: ['no-new-privileges'], Privileged: false, PortBindings: {} },
  });
});

test('a new version takes over under load without a failed request, and a rollback brings the old one back', {
  timeout: 300_000,
}, async () => {
  const repository = await system.repositories.create('crane', contained('one'));
  const first = await system.createApp('crane', { url: fleet.repositoryUrl(repository.url) }, '/', server.id);
  expect(first).toMatchObject({ state: 'live', failureMessage: null });
  const load = server.load('crane.localhost');
  try {
    await repository.commit('Second version', contained('two'));
    expect(await system.deploy(first.appId)).toMatchObject({ state: 'live', failureMessage: null });
    expect((await server.get('crane.localhost')).body).toBe('two');

    const { releaseId } = first;
    if (releaseId === null) throw new Error('a live deployment has a release');
    const { deploymentId } = await system.product.verbs.rollbackApp({ appId: first.appId, releaseId });
    expect(await system.finished(deploymentId)).toMatchObject({ state: 'live', failureMessage: null });
    expect((await server.get('crane.localhost')).body).toBe('one');
  } finally {
    expect((await load.stop()).failures).toEqual([]);
  }
  // Those that left are gone from the engine too.
  await waitFor(
    async () =>
      (await engine.containers()).filter(({ Labels }) => Labels['dev.fairlead.app'] === first.appId).length === 1,
    { what: 'the end of the containers that were replaced', timeoutMs: 60_000 },
  );
});

test('an image of a registry with a password is pulled by its digest with what was sealed, and refused without', {
  timeout: 300_000,
}, async () => {
  const image = await engine.publish(registry, 'shop', contained('published'));
  const { login } = registry;
  const wrong = await system.createImageApp('thief', image, { ...login, password: 'guessed' }, server.id);
  expect(await system.deploy(wrong)).toMatchObject({ state: 'failed', failureCode: 'build.container_failed' });

  const appId = await system.createImageApp('shop', image, login, server.id);
  const deployment = await system.deploy(appId);
  expect(deployment).toMatchObject({ state: 'live', failureMessage: null, commitSubject: image });
  expect(await server.get('shop.localhost')).toEqual({ status: 200, body: 'published' });
  expect((await system.log(deployment.id)).join('\n')).not.toContain(login.password);
});
