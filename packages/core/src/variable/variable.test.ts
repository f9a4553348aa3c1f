// Tests of environment variables: plain ones and secrets in one write, copies between environments, and what waits for a
// deployment.
import type { AppId, EnvironmentId } from '@fairlead/contract/ids';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { updateConfig } from '../app/index.ts';
import { getConfig, listConfigs } from '../config/index.ts';
import { createDeployment } from '../deployment/index.ts';
import { listSecrets, revealSecret } from '../secret/index.ts';
import { auditEventsOf, type TestWorld, testWorld } from '../testing/index.ts';
import { copyVariables, listVariables, updateVariables, updateVariablesInputSchema } from './index.ts';

let db: TestDatabase;
let world: TestWorld;
let appId: AppId;
let first: string;
let staging: EnvironmentId;
let worlds = 0;
beforeAll(async () => {
  db = await testDatabase({ poolMax: 8 });
});
afterAll(() => db.drop());
beforeEach(async () => {
  worlds += 1;
  world = await testWorld(db.database, `acme-${worlds}`);
  const app = await world.createApp('Shop');
  [appId, first] = [app.appId, app.deploymentId ?? ''];
  staging = await world.addEnvironment(appId, { name: 'Staging' });
});

const goLive = async (deploymentId: string) => {
  await world.advance(deploymentId);
  await world.finish(deploymentId);
};
const update = (input: object) =>
  world.tenant((ctx) => updateVariables(ctx, updateVariablesInputSchema.parse({ appId, ...input }), world.keys));
const list = (environmentId?: EnvironmentId) => world.tenant((ctx) => listVariables(ctx, { appId, environmentId }));
const valuesOf = async (environmentId?: EnvironmentId) =>
  Object.fromEntries((await list(environmentId)).variables.map(({ name, value }) => [name, value]));
const secretsOf = async (environmentId?: EnvironmentId) =>
  (await world.tenant((ctx) => listSecrets(ctx, { appId, environmentId }))).secrets;
const copy = async (names: { plain?: string[]; secrets?: string[] }) => {
  const { environmentId: production } = await world.tenant((ctx) => getConfig(ctx, { appId }));
  const places = { appId, fromEnvironmentId: production, environmentId: staging };
  return world.tenant((ctx) => copyVariables(ctx, { ...places, plain: [], secrets: [], ...names }, world.keys));
};

test('plain variables and secrets of one write are saved together, and other variables stay', async () => {
  await update({ plain: [{ name: 'KEPT', value: '1' }] });
  expect(
    await update({
      plain: [
        { name: 'LOG_LEVEL', value: 'debug', scope: 'run' },
        { name: 'KEPT', value: '1' },
      ],
      secrets: [{ name: 'API_KEY', value: 'hunter2' }],
    }),
  ).toEqual({ added: ['LOG_LEVEL', 'API_KEY'], changed: [], unchanged: ['KEPT'], deleted: [] });
  expect((await list()).variables).toMatchObject([
    { name: 'KEPT', value: '1', scope: 'both' },
    { name: 'LOG_LEVEL', value: 'debug', scope: 'run', authorName: expect.any(String), pending: null },
  ]);
  expect((await secretsOf()).map(({ name }) => name)).toEqual(['API_KEY']);
  // A scope that is not named stays.
  expect((await update({ plain: [{ name: 'LOG_LEVEL', value: 'info' }] })).changed).toEqual(['LOG_LEVEL']);
  expect((await list()).variables[1]).toMatchObject({ value: 'info', scope: 'run' });
});

test('nothing is saved if one part is refused', async () => {
  const refused = update({
    plain: [{ name: 'A', value: 'x' }],
    secrets: [{ name: 'B', sealed: true }],
  });
  await expect(refused).rejects.toMatchObject({ code: 'input.invalid' });
  expect(await valuesOf()).toEqual({});
  const plain = Array.from({ length: 200 }, (_, index) => ({ name: `N${index}`, value: 'x' }));
  await update({ plain });
  await expect(update({ plain: [{ name: 'ONE_MORE', value: 'x' }] })).rejects.toMatchObject({
    code: 'variable.too_many',
  });
});

test('a plain variable that becomes a secret stops being plain in the same step', async () => {
  await update({ plain: [{ name: 'TOKEN', value: 'hunter2' }] });
  const { number } = await world.tenant((ctx) => getConfig(ctx, { appId }));
  await update({ secrets: [{ name: 'TOKEN', value: 'hunter2' }] });
  expect(await valuesOf()).toEqual({});
  expect(await secretsOf()).toMatchObject([{ name: 'TOKEN', sealed: true }]);
  const versions = await world.tenant((ctx) => listConfigs(ctx, { appId, limit: 1 }));
  expect(versions.items[0]).toMatchObject({ number: number + 1, changed: ['variables.TOKEN'] });
  // The other way would show what was hidden.
  await expect(update({ plain: [{ name: 'TOKEN', value: 'x' }] })).rejects.toMatchObject({
    code: 'variable.is_secret',
  });
});

test('a deleted variable is gone, a deleted name that is unknown changes nothing', async () => {
  await update({ plain: [{ name: 'A', value: 'x' }] });
  expect((await update({ deleted: ['A', 'UNKNOWN'] })).deleted).toEqual(['A']);
  expect(await valuesOf()).toEqual({});
  const { number } = await world.tenant((ctx) => getConfig(ctx, { appId }));
  await update({ deleted: ['A'] });
  expect((await world.tenant((ctx) => getConfig(ctx, { appId }))).number).toBe(number);
});

test('concurrent writers keep the variables of each other', async () => {
  await Promise.all(Array.from({ length: 4 }, (_, index) => update({ plain: [{ name: `A${index}`, value: 'x' }] })));
  expect(Object.keys(await valuesOf())).toEqual(['A0', 'A1', 'A2', 'A3']);
});

test('each variable has the time of the version since which it is what it is', async () => {
  const at: Date[] = [];
  const later = async (input: object) => {
    world.clock.forward(60_000);
    at.push(world.clock.now());
    await update(input);
  };
  await later({
    plain: [
      { name: 'OLD', value: '1' },
      { name: 'CHANGED', value: '1' },
      { name: 'BACK', value: '1' },
    ],
  });
  await later({ plain: [{ name: 'CHANGED', value: '2' }], deleted: ['BACK'] });
  await later({ plain: [{ name: 'BACK', value: '1' }] });
  world.clock.forward(60_000);
  await world.tenant((ctx) => updateConfig(ctx, { appId, settings: { releasesKept: 7 } }));
  const times = (await list()).variables.map(({ name, updatedAt }) => [
    name,
    at.findIndex((each) => +each === +updatedAt),
  ]);
  expect(Object.fromEntries(times)).toEqual({ OLD: 0, CHANGED: 1, BACK: 2 });
  // Former versions stored a plain text.
  await world.system(
    ({ tx }) => tx.$executeRaw`
    UPDATE app_config SET settings = jsonb_set(settings, '{variables,OLD}', '"1"') WHERE number = 1 AND app_id = ${appId}`,
  );
  expect((await list()).variables.find(({ name }) => name === 'OLD')?.updatedAt).toEqual(at[0]);
});

test('what differs from the live release waits for a deployment', async () => {
  const set = () =>
    update({
      plain: [
        { name: 'SAME', value: '1' },
        { name: 'OTHER', value: '1' },
        { name: 'GONE', value: '1' },
      ],
    });
  expect(await list()).toEqual({ variables: [], removed: [], liveDeploymentId: null });
  await goLive(first);
  expect((await list()).liveDeploymentId).toBe(first);
  await set();
  expect((await list()).variables.map(({ pending }) => pending)).toEqual(['added', 'added', 'added']);
  const { deploymentId } = await world.tenant((ctx) => createDeployment(ctx, { appId }));
  await goLive(deploymentId);
  expect((await list()).variables.map(({ pending }) => pending)).toEqual([null, null, null]);
  await update({
    plain: [
      { name: 'OTHER', value: '1', scope: 'build' },
      { name: 'NEW', value: '' },
    ],
    deleted: ['GONE'],
  });
  const waiting = await list();
  expect(Object.fromEntries(waiting.variables.map(({ name, pending }) => [name, pending]))).toEqual({
    NEW: 'added',
    OTHER: 'changed',
    SAME: null,
  });
  expect(waiting).toMatchObject({ removed: ['GONE'], liveDeploymentId: deploymentId });
});

test('chosen variables are copied to another environment, which keeps its others', async () => {
  await update({
    plain: [
      { name: 'REGION', value: 'north', scope: 'build' },
      { name: 'ONLY_HERE', value: 'x' },
    ],
  });
  const expiresAt = new Date('2031-01-01T00:00:00Z');
  await update({
    secrets: [
      { name: 'OPEN', value: 'hunter2', sealed: false, atBuild: true, delivery: 'file', expiresAt },
      { name: 'SHUT', value: 'hunter3' },
    ],
  });
  await update({
    environmentId: staging,
    plain: [
      { name: 'REGION', value: 'south' },
      { name: 'OWN', value: 'y' },
    ],
  });
  await update({ environmentId: staging, secrets: [{ name: 'SHUT', value: 'of staging' }] });
  expect(await copy({ plain: ['REGION'], secrets: ['OPEN', 'SHUT'] })).toEqual({
    added: ['OPEN'],
    changed: ['REGION', 'SHUT'],
    unchanged: [],
    deleted: [],
  });
  expect(await valuesOf(staging)).toEqual({ OWN: 'y', REGION: 'north' });
  expect((await list(staging)).variables[1]).toMatchObject({ name: 'REGION', scope: 'build' });
  const [open, shut] = await secretsOf(staging);
  expect(open).toMatchObject({ name: 'OPEN', sealed: false, atBuild: true, delivery: 'file', expiresAt });
  expect(shut).toMatchObject({ name: 'SHUT', number: 2, sealed: true });
  if (open === undefined) throw new Error('a secret was expected');
  const shown = await world.tenant((ctx) => revealSecret(ctx, { secretId: open.id, number: 1 }, world.keys));
  expect(shown.value).toBe('hunter2');
  const event = (await auditEventsOf(world)).findLast(({ action }) => action === 'variable.copy');
  expect(event?.after).toEqual({ from: 'Production', to: 'Staging', variables: ['REGION'], secrets: ['OPEN', 'SHUT'] });
  expect(JSON.stringify(await auditEventsOf(world))).not.toContain('hunter');
});

test('a copy of a name that the source lacks is refused as a whole', async () => {
  await update({ plain: [{ name: 'REGION', value: 'north' }] });
  for (const names of [{ plain: ['REGION', 'NONE'] }, { plain: ['REGION'], secrets: ['NONE'] }]) {
    await expect(copy(names)).rejects.toMatchObject({ code: 'variable.not_found' });
  }
  expect(await valuesOf(staging)).toEqual({});
});

test('a secret that is copied over a plain variable replaces it; a plain one never replaces a secret', async () => {
  await update({ plain: [{ name: 'A', value: 'x' }], secrets: [{ name: 'B', value: 'y' }] });
  await update({ environmentId: staging, plain: [{ name: 'B', value: 'z' }], secrets: [{ name: 'A', value: 'w' }] });
  await copy({ secrets: ['B'] });
  expect(await valuesOf(staging)).toEqual({});
  await expect(copy({ plain: ['A'] })).rejects.toMatchObject({ code: 'variable.is_secret' });
});
