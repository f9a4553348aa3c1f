// Delivery of secrets to a server: staged until a deployment, selected for a release, sealed, held back, and missing.

import { SecretDelivery, WorkState } from '@fairlead/contract/agent';
import { type AppId, parseId } from '@fairlead/contract/ids';
import { expect, test } from 'vitest';
import { getApp, updateConfig } from '../app/index.ts';
import { createDeployment, deploySecrets, rollbackApp } from '../deployment/index.ts';
import { prepareDesiredState } from '../desired-state/index.ts';
import { builtStatus, rolloutStatus, type TestWorld, testUrl } from '../testing/index.ts';
import { attachSecretGroup, createSecretGroup, createSecretSealer, deleteSecret, deleteSecretGroup } from './index.ts';
import { serverSecretsBytesMax } from './rules.ts';
import { type SealedSnapshot, withinMessage } from './secret-sealer.ts';
import { secretStage } from './testing.ts';

let world: TestWorld;
let appId: AppId;
let first: string;
const { set, list, idOf, connect, renewKey, goLive, rollOut, open, opened, deploy, get } = secretStage((begun) => {
  ({ world, appId, first } = begun);
});

const at = (reference: string) => `$\{{ ${reference} }}`;

test('changes wait for a deployment, and each release keeps the secrets it was made with', async () => {
  await connect();
  const { groupId } = await world.tenant((ctx) => createSecretGroup(ctx, { name: 'db' }));
  await world.tenant((ctx) => attachSecretGroup(ctx, { groupId, appId }));
  await set([{ name: 'HOST', value: 'db.internal' }], { groupId });
  await set([
    { name: 'URL', value: `pg://${at('db.HOST')}/x` },
    { name: 'FILE', value: 'pem', delivery: 'file' },
  ]);
  await goLive(first);
  expect(await opened()).toEqual({ URL: 'pg://db.internal/x', FILE: 'pem', HOST: 'db.internal' });
  expect((await list()).changes).toEqual([]);

  await set([{ name: 'HOST', value: 'db2.internal' }], { groupId });
  await world.tenant(async (ctx) => deleteSecret(ctx, { secretId: await idOf('FILE') }));
  expect((await list()).changes).toEqual([
    { name: 'FILE', kind: 'removed' },
    { name: 'db.HOST', kind: 'changed' },
  ]);
  expect(await opened()).toEqual({ URL: 'pg://db.internal/x', FILE: 'pem', HOST: 'db.internal' });
  await expect(world.tenant((ctx) => deleteSecretGroup(ctx, { groupId }))).rejects.toMatchObject({
    code: 'secret.group_in_use',
  });

  const { deploymentId } = await world.tenant((ctx) => deploySecrets(ctx, { appId }));
  await world.advance(deploymentId);
  expect(await get(deploymentId)).toMatchObject({ state: 'rolling_out', trigger: 'secret', releaseNumber: 2 });
  expect(await opened('candidate')).toEqual({ URL: 'pg://db2.internal/x', HOST: 'db2.internal' });
  expect(await opened()).toEqual({ URL: 'pg://db.internal/x', FILE: 'pem', HOST: 'db.internal' });
  await world.report({ rollouts: [rolloutStatus(deploymentId, WorkState.SUCCEEDED)] });
  expect(await opened()).toEqual({ URL: 'pg://db2.internal/x', HOST: 'db2.internal' });
  expect((await list()).changes).toEqual([]);

  const releases = await world.system(({ tx }) =>
    tx.release.findMany({ where: { appId }, orderBy: { number: 'asc' } }),
  );
  const back = await world.tenant((ctx) =>
    rollbackApp(ctx, { appId, releaseId: parseId('rel', releases[0]?.id ?? '') }),
  );
  await rollOut(back.deploymentId);
  expect(await opened()).toEqual({ URL: 'pg://db.internal/x', FILE: 'pem', HOST: 'db.internal' });
  expect((await list()).changes).toHaveLength(2);
});

test('sealed bytes stay the same while nothing changes, and a new key of the server seals again', async () => {
  await connect();
  await set([{ name: 'A', value: 'one' }]);
  await goLive(first);
  const sealed = async () => (await world.desired()).apps.find((spec) => spec.appId === appId)?.live?.secrets?.sealed;
  const before = await sealed();
  expect(await sealed()).toEqual(before);
  const number = (await world.desired()).version?.number ?? 0n;
  await renewKey();
  await connect();
  expect((await world.desired()).version?.number).toBe(number + 1n);
  expect(await opened()).toEqual({ A: 'one' });
  await connect();
  expect((await world.desired()).version?.number).toBe(number + 1n);
});

test('a server without a key fails the deployment before its build, and says why', async () => {
  await set([{ name: 'A', value: 'one' }]);
  await world.advance(first);
  expect(await get(first)).toMatchObject({ state: 'failed', failureCode: 'secret.server_cannot_open' });
  expect((await get(first)).failureMessage).toMatch(/Upgrade its agent/);
});

test('inconsistent secrets fail the deployment with their problem, also if they broke during its build', async () => {
  await connect();
  await world.advance(first);
  await set([{ name: 'A', value: at('B') }]);
  await world.report({ builds: [builtStatus(first)] });
  expect(await get(first)).toMatchObject({ state: 'failed', failureCode: 'secret.unresolved' });
  expect((await get(first)).failureMessage).toBe(
    'A refers to B, which this app does not have. Add it, attach its group, or correct the reference.',
  );
  expect((await list()).problems).toHaveLength(1);
  const second = await deploy();
  await world.advance(second);
  expect(await get(second)).toMatchObject({ state: 'failed', failureCode: 'secret.unresolved' });
});

test('an app with undecryptable secrets is held back alone: other apps continue, and its page says why', async () => {
  await connect();
  await set([{ name: 'A', value: 'mine' }]);
  await goLive(first);
  const neighbour = await world.createApp('Neighbour');
  await set([{ name: 'B', value: 'theirs' }], { appId: neighbour.appId });
  await goLive(neighbour.deploymentId ?? '');
  const secretId = await idOf('A');
  const envelope = new Uint8Array(64);
  const [old] = await world.system(({ tx }) => tx.secretVersion.findMany({ where: { secretId } }));
  const write = (bytes: Uint8Array<ArrayBuffer>) =>
    world.system(({ tx }) => tx.secretVersion.updateMany({ where: { secretId }, data: { envelope: bytes } }));
  await write(envelope);
  // As after a start of the gateway, which remembers nothing that it sealed.
  const sealer = () => createSecretSealer(world.keys);
  const render = () =>
    prepareDesiredState(world.system, { serverId: world.serverId, sealer: sealer(), urlOf: testUrl });
  const problems = async () =>
    Promise.all(
      ['shop', 'neighbour'].map(
        async (slug) =>
          (await world.tenant((ctx) => getApp(ctx, { slug }, { localHttpsPort: 443, localHttpPort: 80 })))
            .secretsProblem,
      ),
    );
  const state = await render();
  const secretsOf = (id: string) => state.apps.find((spec) => spec.appId === id)?.live?.secrets;
  expect(secretsOf(appId)?.sealed).toHaveLength(1);
  expect(secretsOf(neighbour.appId)?.sealed.length).toBeGreaterThan(100);
  // Same version as before: running instances are not restarted.
  expect(secretsOf(appId)?.version).toMatch(/^scs_/);
  expect(await problems()).toEqual(['undecryptable', null]);
  const held = (await render()).version?.number ?? 0n;
  await write(old?.envelope ?? envelope);
  const after = await render();
  expect(await problems()).toEqual([null, null]);
  // An agent does not take a version twice, and the one that it holds lacks the secrets.
  expect(after.version?.number).toBe(held + 1n);
  expect(after.apps.find((spec) => spec.appId === appId)?.live?.secrets?.sealed.length).toBeGreaterThan(100);
  expect((await render()).version?.number).toBe(held + 1n);
});

test('the secrets of all apps of a server fit into one message, or the next one is refused with a sentence', async () => {
  await connect();
  await set([{ name: 'A', value: 'x' }]);
  await goLive(first);
  const heavy = await world.createApp('Heavy');
  await set([{ name: 'B', value: 'y' }], { appId: heavy.appId });
  const resize = (sizeBytes: number) =>
    world.system(({ tx }) => tx.secretSnapshot.updateMany({ where: { appId }, data: { sizeBytes } }));
  await resize(serverSecretsBytesMax);
  await world.advance(heavy.deploymentId ?? '');
  await world.report({ builds: [builtStatus(heavy.deploymentId ?? '')] });
  const refused = await get(heavy.deploymentId ?? '');
  expect(refused.state).toBe('failed');
  expect(JSON.stringify(refused)).toContain('together would be larger than 12 MiB');
  await resize(serverSecretsBytesMax - 1);
  const again = await world.tenant((ctx) => createDeployment(ctx, { appId: heavy.appId }));
  await goLive(again.deploymentId);
  expect((await get(again.deploymentId)).state).toBe('live');
});

test('a state holds the stored secrets that fit, the most important first', () => {
  const snapshot = (version: string, bytes: number): [string, SealedSnapshot] => [
    version,
    { sealed: new Uint8Array(bytes), version, problem: null },
  ];
  const sizes = new Map([snapshot('a', 8_000_000), snapshot('b', 8_000_000), snapshot('c', 1000)]);
  const within = withinMessage(sizes, ['b', 'a', 'c']);
  expect([...within.values()].map(({ version, problem }) => [version, problem])).toEqual([
    ['b', null],
    ['a', 'no_room'],
    ['c', null],
  ]);
});

test('names that the repository expects and that are not set are listed, for the release and for the next one', async () => {
  await connect();
  const missingOf = async (deploymentId: string) => (await get(deploymentId)).missingNames;
  await set([{ name: 'A', value: 'x' }]);
  expect(await list()).toMatchObject({ expectedVariables: [], missingNames: [] });
  await world.advance(first);
  // The last four could never be set: two are Fairlead's, one is no name, and one is there already.
  const expectedVariables = ['A', 'B', 'C', 'PORT', 'LD_PRELOAD', 'no name', 'B'];
  await world.report({ builds: [builtStatus(first, { expectedVariables })] });
  await world.report({ rollouts: [rolloutStatus(first, WorkState.SUCCEEDED)] });
  expect(await list()).toMatchObject({ expectedVariables: ['A', 'B', 'C'], missingNames: ['B', 'C'] });
  expect(await missingOf(first)).toEqual(['B', 'C']);

  // A secret or a variable of the settings will do; the release that is live went without them all the same.
  await set([{ name: 'B', value: 'y' }]);
  await world.tenant((ctx) =>
    updateConfig(ctx, { appId, settings: { variables: { C: { value: 'plain', scope: 'both' } } } }),
  );
  expect(await list()).toMatchObject({ expectedVariables: ['A', 'B', 'C'], missingNames: [] });
  expect(await missingOf(first)).toEqual(['B', 'C']);
  const { deploymentId } = await world.tenant((ctx) => deploySecrets(ctx, { appId }));
  await rollOut(deploymentId);
  // Only the secrets are newer: the settings stay as they were.
  expect(await missingOf(deploymentId)).toEqual(['C']);
  const next = await world.tenant((ctx) => createDeployment(ctx, { appId }));
  await world.advance(next.deploymentId);
  await world.report({ builds: [builtStatus(next.deploymentId, { expectedVariables })] });
  expect(await missingOf(next.deploymentId)).toEqual([]);
});

test('a release keeps a bounded number of the names that a server reports', async () => {
  await world.advance(first);
  const expectedVariables = Array.from({ length: 5000 }, (_, index) => `NAME_${index}`);
  await world.report({ builds: [builtStatus(first, { expectedVariables })] });
  expect((await list()).expectedVariables).toHaveLength(200);
});

test('the agent gets delivery by file', async () => {
  await connect();
  await set([
    { name: 'A', value: 'x', delivery: 'file' },
    { name: 'B', value: 'y' },
  ]);
  await goLive(first);
  const state = await world.desired();
  const { secrets } = await open(state.apps[0]?.live?.secrets?.sealed ?? new Uint8Array());
  expect(secrets.map(({ name, delivery }) => [name, delivery])).toEqual([
    ['A', SecretDelivery.FILE],
    ['B', SecretDelivery.ENVIRONMENT],
  ]);
});
