// Tests for apps from images: an image has no commit and runs only on servers with a working container engine.
import { ArtifactKind, WorkState } from '@fairlead/contract/agent';
import { parseId } from '@fairlead/contract/ids';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { updateConfig } from '../app/index.ts';
import { prepareDesiredState } from '../desired-state/index.ts';
import { createSecretSealer } from '../secret/index.ts';
import { builtStatus, rolloutStatus, type TestWorld, testUrl, testWorld } from '../testing/index.ts';
import { createDeployment, getDeployment } from './index.ts';

let db: TestDatabase;
let world: TestWorld;
const digest = `sha256:${'c'.repeat(64)}`;

beforeAll(async () => {
  db = await testDatabase();
  world = await testWorld(db.database);
});
afterAll(() => db.drop());

const can = (capabilities: string[]) => world.system(({ tx }) => tx.server.updateMany({ data: { capabilities } }));
const get = (deploymentId: string) =>
  world.tenant((ctx) => getDeployment(ctx, { deploymentId: parseId('dep', deploymentId) }));

async function appOf(name: string, settings: Parameters<typeof updateConfig>[1]['settings']) {
  const made = await world.createApp(name, { host: `${name}.example.test`, deployNow: false });
  const appId = parseId('app', made.appId);
  await world.tenant((ctx) => updateConfig(ctx, { appId, settings }));
  return appId;
}

async function start(appId: Awaited<ReturnType<typeof appOf>>): Promise<string> {
  const { deploymentId } = await world.tenant((ctx) => createDeployment(ctx, { appId }));
  await world.advance(deploymentId);
  return deploymentId;
}

test('an image of a registry goes live under its own name, and the agent gets its kind', async () => {
  await can(['build.plan', 'container']);
  const image = 'registry.example/shop:2';
  const appId = await appOf('shop', { builder: 'image', image });
  const deploymentId = await start(appId);
  // As an agent reports it: no commit, and no command but the image's own.
  const { artifact } = builtStatus(deploymentId, { digest });
  const status = builtStatus(deploymentId, { digest });
  status.commit = undefined;
  status.artifact = { ...artifact, command: [], kind: ArtifactKind.IMAGE } as typeof artifact;
  await world.report({ builds: [status] });
  const desired = await prepareDesiredState(world.system, {
    serverId: world.serverId,
    sealer: createSecretSealer(world.keys),
    urlOf: testUrl,
  });
  expect(desired.requires).toContain('container');
  expect(desired.apps.find((spec) => spec.appId === appId)?.candidate?.release?.artifactKind).toBe(ArtifactKind.IMAGE);
  await world.report({ rollouts: [rolloutStatus(deploymentId, WorkState.SUCCEEDED)] });
  expect(await get(deploymentId)).toMatchObject({ state: 'live', commitSubject: image, commitHash: 'c'.repeat(64) });
});

test('where no engine answers, a deployment says where to install one instead of beginning', async () => {
  const appId = await appOf('box', { builder: 'dockerfile' });
  await can(['build.plan']);
  const ended = await get(await start(appId));
  expect(ended).toMatchObject({ state: 'failed', failureCode: 'deployment.capability_missing' });
  expect(ended.failureMessage).toMatch(/no container engine that answers.*Install Docker on /);
});

test('an engine that stops while the image is built is reported as such', async () => {
  await can(['build.plan', 'container']);
  const deploymentId = await start(await appOf('tug', { builder: 'dockerfile' }));
  await can(['build.plan']);
  const status = builtStatus(deploymentId, { digest });
  if (status.artifact !== undefined) status.artifact.kind = ArtifactKind.IMAGE;
  await world.report({ builds: [status] });
  const ended = await get(deploymentId);
  expect(ended).toMatchObject({ state: 'failed', failureCode: 'deployment.capability_missing' });
  expect(ended.failureMessage).toContain('Install Docker');
});

test('an app with a socket gets an error for containers: when it is set, or once an image was built', async () => {
  await can(['build.plan', 'container', 'socket']);
  const appId = await appOf('pipe', { listen: 'socket' });
  const asContainer = world.tenant((ctx) => updateConfig(ctx, { appId, settings: { builder: 'dockerfile' } }));
  await expect(asContainer).rejects.toMatchObject({ code: 'config.socket_in_container' });
  const deploymentId = await start(appId);
  const status = builtStatus(deploymentId, { digest });
  if (status.artifact !== undefined) status.artifact.kind = ArtifactKind.IMAGE;
  await world.report({ builds: [status] });
  expect(await get(deploymentId)).toMatchObject({ state: 'failed', failureCode: 'deployment.socket_in_container' });
});

test('an app with a socket is not sent to an agent that knows none', async () => {
  await can(['build.plan']);
  const ended = await get(await start(await appOf('tube', { listen: 'socket' })));
  expect(ended.failureMessage).toContain('“socket”');
});
