// Variables of builds and instances, set by people and by Fairlead, from the settings to desired state.
import { parseId } from '@fairlead/contract/ids';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { updateConfig } from '../app/index.ts';
import { settingsSchema } from '../config/index.ts';
import { attachDomain } from '../domain/index.ts';
import { builtStatus, commitHash, type TestWorld, testWorld } from '../testing/index.ts';
import { createDeployment, getDeployment, redeploy } from './index.ts';

let db: TestDatabase;
let world: TestWorld;

beforeAll(async () => {
  db = await testDatabase();
  world = await testWorld(db.database);
});
afterAll(() => db.drop());

const can = (...capabilities: string[]) => world.system(({ tx }) => tx.server.updateMany({ data: { capabilities } }));
const get = (deploymentId: string) =>
  world.tenant((ctx) => getDeployment(ctx, { deploymentId: parseId('dep', deploymentId) }));

async function appOf(name: string, branch: string) {
  const made = await world.createApp(name, { host: `${name}.example.test`, deployNow: false, branch });
  const appId = parseId('app', made.appId);
  const { variables } = settingsSchema.parse({
    variables: { BOTH: 'b', BUILD: { value: 'c', scope: 'build' }, RUN: { value: 'd', scope: 'run' } },
  });
  await world.tenant((ctx) => updateConfig(ctx, { appId, settings: { variables } }));
  return appId;
}

async function start(appId: Awaited<ReturnType<typeof appOf>>): Promise<string> {
  const { deploymentId } = await world.tenant((ctx) => createDeployment(ctx, { appId }));
  await world.advance(deploymentId);
  return deploymentId;
}

const buildOf = async (deploymentId: string) =>
  (await world.desired()).builds.find((build) => build.deploymentId === deploymentId);
const liveOf = async (appId: string) => (await world.desired()).apps.find((app) => app.appId === appId)?.live;

test('a variable reaches builds, instances or both, with the variables that Fairlead sets', async () => {
  await can('build.plan', 'build.variables', 'build.default_branch', 'worker');
  const appId = await appOf('shop', '');
  const { workers } = settingsSchema.parse({ workers: [{ name: 'mail', command: ['tsx', 'mail.ts'] }] });
  await world.tenant((ctx) => updateConfig(ctx, { appId, settings: { workers } }));
  const deploymentId = await start(appId);
  const told = {
    FAIRLEAD_APP: 'shop',
    FAIRLEAD_ENVIRONMENT: 'Production',
    FAIRLEAD_DEPLOYMENT_ID: deploymentId,
    FAIRLEAD_URL: 'https://shop.example.test:4443',
  };
  const build = await buildOf(deploymentId);
  expect(build?.ref).toBe('');
  expect(build?.variables).toEqual({ BOTH: 'b', BUILD: 'c', ...told });
  expect(build?.runCommands).toEqual(['tsx mail.ts']);
  expect((await world.desired()).requires).toEqual(expect.arrayContaining(['build.variables', 'build.default_branch']));
  await world.report({ builds: [builtStatus(deploymentId, { branch: 'master' })] });
  await world.finish(deploymentId);
  expect((await liveOf(appId))?.variables).toEqual({
    NODE_ENV: 'production',
    BOTH: 'b',
    RUN: 'd',
    ...told,
    FAIRLEAD_GIT_COMMIT: commitHash,
    FAIRLEAD_GIT_BRANCH: 'master',
  });
  expect(await get(deploymentId)).toMatchObject({ ref: 'master', state: 'live' });

  // The same commit again: the agent sees a commit only, and the branch is known all the same.
  const again = await world.tenant((ctx) => redeploy(ctx, { deploymentId: parseId('dep', deploymentId) }));
  await world.advance(again.deploymentId);
  expect((await buildOf(again.deploymentId))?.variables).toMatchObject({ FAIRLEAD_GIT_BRANCH: 'master' });
  await world.report({ builds: [builtStatus(again.deploymentId, { branch: '' })] });
  await world.finish(again.deploymentId);
  expect((await liveOf(appId))?.variables.FAIRLEAD_GIT_BRANCH).toBe('master');
});

test('a domain added later changes no running instance, and reaches the next deployment', async () => {
  await can('build.plan', 'build.variables');
  const made = await world.createApp('plain', { deployNow: false });
  const appId = parseId('app', made.appId);
  const first = await start(appId);
  expect((await buildOf(first))?.variables).not.toHaveProperty('FAIRLEAD_URL');
  await world.finish(first);
  const before = (await liveOf(appId))?.variables;
  await world.tenant((ctx) =>
    attachDomain(
      ctx,
      { appId, host: 'plain.example.test', pathPrefix: '/api' },
      { localHttpsPort: 443, localHttpPort: 80, controlHost: '', publicHost: '' },
    ),
  );
  expect((await liveOf(appId))?.variables).toEqual(before);
  const second = await start(appId);
  await world.finish(second);
  expect((await liveOf(appId))?.variables.FAIRLEAD_URL).toBe('https://plain.example.test:4443/api');
});

test('an older agent gets no variables and no request that it does not support', async () => {
  await can('build.plan');
  const made = await world.createApp('older', { deployNow: false });
  const plain = await start(parseId('app', made.appId));
  expect((await buildOf(plain))?.variables).toEqual({});
  await world.finish(plain);
  for (const [name, branch, missing] of [
    ['scoped', 'main', 'build.variables'],
    ['branchless', '', 'build.default_branch'],
  ] as const) {
    const appId =
      name === 'scoped'
        ? await appOf(name, branch)
        : parseId('app', (await world.createApp(name, { deployNow: false, branch })).appId);
    const ended = await get(await start(appId));
    expect(ended).toMatchObject({ state: 'failed', failureCode: 'deployment.capability_missing' });
    expect(ended.failureMessage).toContain(missing);
  }
});
