// Secrets on a real database: written, versioned, staged, sealed to a server, and carried over to newer keys meanwhile.

import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fromBinary } from '@bufbuild/protobuf';
import { SecretBundleSchema, SecretDelivery, WorkState } from '@fairlead/contract/agent';
import { type AppId, parseId } from '@fairlead/contract/ids';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { Decrypter, generateIdentity, identityToRecipient } from 'age-encryption';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { getApp, updateConfig } from '../app/index.ts';
import { createDeployment, deploySecrets, getDeployment, rollbackApp } from '../deployment/index.ts';
import { openSession, renderDesiredState } from '../server/index.ts';
import { builtStatus, rolloutStatus, type TestWorld, testWorld } from '../testing/index.ts';
import {
  addMasterKey,
  attachSecretGroup,
  createSecretGroup,
  createSecretKeys,
  createSecretSealer,
  deleteSecret,
  deleteSecretGroup,
  listExpiringSecrets,
  listMasterKeysInUse,
  listSecrets,
  listSecretVersions,
  openMasterKeyFile,
  pruneMasterKeys,
  recordSecretReminders,
  restoreSecret,
  revealSecret,
  rotateDataKey,
  rotateValues,
  type SecretItem,
  type SecretOwner,
  updateSecrets,
} from './index.ts';
import { secretsMax, serverSecretsBytesMax } from './rules.ts';
import { type SealedSnapshot, withinMessage } from './seal-snapshots.ts';

let db: TestDatabase;
let world: TestWorld;
let appId: AppId;
let first: string;
let identity: string;
let recipient: string;
let count = 0;

beforeAll(async () => {
  db = await testDatabase({ poolMax: 8 });
  identity = await generateIdentity();
  recipient = await identityToRecipient(identity);
});
afterAll(() => db.drop());
beforeEach(async () => {
  count += 1;
  world = await testWorld(db.database, `acme-${count}`);
  const app = await world.createApp('Shop');
  appId = app.appId;
  first = app.deploymentId ?? '';
});

const at = (reference: string) => `$\{{ ${reference} }}`;
const set = (items: SecretItem[], owner: SecretOwner = { appId }) =>
  world.tenant((ctx) => updateSecrets(ctx, { owner, items }, world.keys));
const list = () => world.tenant((ctx) => listSecrets(ctx, { appId }));
const idOf = async (name: string) => {
  const found = (await list()).secrets.find((secret) => secret.name === name);
  if (found === undefined) throw new Error(`no secret ${name}`);
  return found.id;
};
const audit = () =>
  world.system(({ tx }) =>
    tx.auditEvent.findMany({
      where: { organizationId: world.organizationId, action: { startsWith: 'secret.' } },
      orderBy: { at: 'asc' },
    }),
  );

/** What the agent says when it connects. */
async function connect(): Promise<void> {
  await world.system((ctx) =>
    openSession(ctx, {
      serverId: world.serverId,
      connection: 'test-gateway',
      agentVersion: '1',
      capabilities: [],
      host: undefined,
      sealing: { $typeName: 'fairlead.agent.v1.SealingKey', recipient, signature: new Uint8Array() },
    }),
  );
}

async function goLive(deploymentId: string): Promise<void> {
  await world.advance(deploymentId);
  await world.finish(deploymentId);
}

/** Rolled out without a build. */
async function rollOut(deploymentId: string): Promise<void> {
  await world.advance(deploymentId);
  await world.report({ rollouts: [rolloutStatus(deploymentId, WorkState.SUCCEEDED)] });
}

async function opened(which: 'live' | 'candidate' = 'live') {
  const state = await world.desired();
  const app = state.apps.find((spec) => spec.appId === appId);
  const release = which === 'live' ? app?.live : app?.candidate?.release;
  if (release?.secrets === undefined) return null;
  expect(state.requires).toContain('secret');
  const decrypter = new Decrypter();
  decrypter.addIdentity(identity);
  const bundle = fromBinary(SecretBundleSchema, await decrypter.decrypt(release.secrets.sealed));
  expect(bundle).toMatchObject({ appId, version: release.secrets.version });
  return Object.fromEntries(bundle.secrets.map(({ name, value }) => [name, Buffer.from(value).toString('utf8')]));
}

const deploy = async () => (await world.tenant((ctx) => createDeployment(ctx, { appId }))).deploymentId;
const get = (deploymentId: string) =>
  world.tenant((ctx) => getDeployment(ctx, { deploymentId: parseId('dep', deploymentId) }));

test('a secret is sealed unless it says otherwise, and lists and history hold no value', async () => {
  expect(
    await set([
      { name: 'A', value: 'hunter2' },
      { name: 'B', value: 'hunter3', sealed: false },
    ]),
  ).toEqual({
    added: ['A', 'B'],
    changed: [],
    unchanged: [],
  });
  const reveal = (name: string, number = 1) =>
    world.tenant(async (ctx) => revealSecret(ctx, { secretId: await idOf(name), number }, world.keys));
  await expect(reveal('A')).rejects.toMatchObject({ code: 'secret.sealed' });
  expect(await reveal('B')).toEqual({ name: 'B', number: 1, value: 'hunter3' });
  await expect(reveal('B', 2)).rejects.toMatchObject({ code: 'secret.version_not_found' });
  // Unsealing what is stored would be a way around the seal; a new value may be open.
  await expect(set([{ name: 'A', sealed: false }])).rejects.toMatchObject({ code: 'secret.sealed' });
  await set([{ name: 'A', value: 'hunter4', sealed: false }]);
  expect((await reveal('A', 2)).value).toBe('hunter4');
  await expect(reveal('A', 1)).rejects.toMatchObject({ code: 'secret.sealed' });

  const secretId = await idOf('A');
  const history = await world.tenant((ctx) => listSecretVersions(ctx, { secretId }));
  expect(history.versions.map(({ number, sealed, isCurrent }) => [number, sealed, isCurrent])).toEqual([
    [2, false, true],
    [1, true, false],
  ]);
  expect(history.versions[0]?.authorName).toBe(`Owner of acme-${count}`);
  const events = await audit();
  expect(events.map(({ action }) => action).sort()).toEqual([
    'secret.import',
    'secret.reveal',
    'secret.reveal',
    'secret.update',
  ]);
  const seen = JSON.stringify([await list(), history, events]);
  expect(seen).not.toContain('hunter');
});

test('who writes a sealed value learns nothing from whether it was the same', async () => {
  await set([{ name: 'A', value: 'hunter2' }]);
  const answers = [await set([{ name: 'A', value: 'hunter2' }]), await set([{ name: 'A', value: 'a wrong guess' }])];
  expect(answers).toEqual([
    { added: [], changed: ['A'], unchanged: [] },
    { added: [], changed: ['A'], unchanged: [] },
  ]);
  const { versions } = await world.tenant(async (ctx) => listSecretVersions(ctx, { secretId: await idOf('A') }));
  expect(versions).toHaveLength(3);
  // What is said of it beside its value can be compared: it is no secret.
  expect((await set([{ name: 'A', delivery: 'environment' }])).unchanged).toEqual(['A']);
});

test('the same open value makes no version; a deleted secret comes back with its history; an old value is restored', async () => {
  await set([{ name: 'A', value: 'one', sealed: false }]);
  expect((await set([{ name: 'A', value: 'one' }])).unchanged).toEqual(['A']);
  await set([{ name: 'A', value: 'two', sealed: true }]);
  const secretId = await idOf('A');
  await world.tenant((ctx) => deleteSecret(ctx, { secretId }));
  expect((await list()).secrets).toEqual([]);
  await expect(world.tenant((ctx) => deleteSecret(ctx, { secretId }))).rejects.toMatchObject({
    code: 'secret.not_found',
  });
  expect((await set([{ name: 'A', value: 'three', sealed: false }])).added).toEqual(['A']);
  expect(await idOf('A')).toBe(secretId);
  expect(await world.tenant((ctx) => restoreSecret(ctx, { secretId, number: 3 }, world.keys))).toEqual({
    secretId,
    number: 4,
  });
  expect((await world.tenant((ctx) => revealSecret(ctx, { secretId, number: 4 }, world.keys))).value).toBe('three');
  await world.tenant((ctx) => restoreSecret(ctx, { secretId, number: 2 }, world.keys));
  await expect(world.tenant((ctx) => revealSecret(ctx, { secretId, number: 5 }, world.keys))).rejects.toMatchObject({
    code: 'secret.sealed',
  });
});

test('what was deleted comes back as it was, unless there is no room for it', async () => {
  await set([{ name: 'A', value: 'one' }]);
  const secretId = await idOf('A');
  await world.tenant((ctx) => deleteSecret(ctx, { secretId }));
  const restore = () => world.tenant((ctx) => restoreSecret(ctx, { secretId, number: 1 }, world.keys));
  const { organizationId } = world;
  const { environmentId } = await world.system(({ tx }) => tx.secret.findFirstOrThrow({ where: { id: secretId } }));
  const fillers = Array.from({ length: secretsMax }, (_, index) => ({
    id: `sec_filler${index}`,
    organizationId,
    appId,
    environmentId,
    name: `FILLER_${index}`,
    number: 1,
  }));
  await world.system(({ tx }) => tx.secret.createMany({ data: fillers }));
  await expect(restore()).rejects.toMatchObject({ code: 'secret.too_many' });
  await world.system(({ tx }) => tx.secret.deleteMany({ where: { id: { startsWith: 'sec_filler' } } }));
  expect(await restore()).toEqual({ secretId, number: 2 });
  expect((await list()).secrets).toMatchObject([{ id: secretId, name: 'A', number: 2, sealed: true }]);
  // Of a group that is gone nothing comes back.
  const { groupId } = await world.tenant((ctx) => createSecretGroup(ctx, { name: 'shared' }));
  await set([{ name: 'B', value: 'two' }], { groupId });
  const shared = await world.system(({ tx }) => tx.secret.findFirstOrThrow({ where: { groupId } }));
  await world.tenant((ctx) => deleteSecretGroup(ctx, { groupId }));
  const late = world.tenant((ctx) =>
    restoreSecret(ctx, { secretId: parseId('sec', shared.id), number: 1 }, world.keys),
  );
  await expect(late).rejects.toMatchObject({ code: 'secret.not_found' });
});

test('a paste is saved whole or not at all', async () => {
  await set([{ name: 'A', value: 'one' }]);
  const failing = set([
    { name: 'B', value: 'two' },
    { name: 'A', sealed: false },
  ]);
  await expect(failing).rejects.toMatchObject({ code: 'secret.sealed' });
  expect((await list()).secrets.map(({ name }) => name)).toEqual(['A']);
  const many = Array.from({ length: 250 }, (_, index) => ({ name: `N${index}`, value: `value ${index}` }));
  expect((await set(many)).added).toHaveLength(250);
});

test('writers at the same time give each value a number of its own', async () => {
  await Promise.all(Array.from({ length: 6 }, (_, index) => set([{ name: 'A', value: `value ${index}` }])));
  const secretId = await idOf('A');
  const { versions } = await world.tenant((ctx) => listSecretVersions(ctx, { secretId }));
  expect(versions.map(({ number }) => number)).toEqual([6, 5, 4, 3, 2, 1]);
});

test('changes wait for a deployment, and each release keeps the secrets it was made with', async () => {
  await connect();
  const { groupId } = await world.tenant((ctx) => createSecretGroup(ctx, { name: 'db' }));
  await set([{ name: 'HOST', value: 'db.internal' }], { groupId });
  await set([
    { name: 'URL', value: `pg://${at('db.HOST')}/x` },
    { name: 'FILE', value: 'pem', delivery: 'file' },
  ]);
  await goLive(first);
  expect(await opened()).toEqual({ URL: 'pg://db.internal/x', FILE: 'pem' });
  expect((await list()).changes).toEqual([]);

  await world.tenant((ctx) => attachSecretGroup(ctx, { groupId, appId }));
  await set([{ name: 'HOST', value: 'db2.internal' }], { groupId });
  await world.tenant(async (ctx) => deleteSecret(ctx, { secretId: await idOf('FILE') }));
  expect((await list()).changes).toEqual([
    { name: 'FILE', kind: 'removed' },
    { name: 'db.HOST', kind: 'changed' },
  ]);
  expect(await opened()).toEqual({ URL: 'pg://db.internal/x', FILE: 'pem' });
  await expect(world.tenant((ctx) => deleteSecretGroup(ctx, { groupId }))).rejects.toMatchObject({
    code: 'secret.group_in_use',
  });

  const { deploymentId } = await world.tenant((ctx) => deploySecrets(ctx, { appId }));
  await world.advance(deploymentId);
  expect(await get(deploymentId)).toMatchObject({ state: 'rolling_out', trigger: 'secret', releaseNumber: 2 });
  expect(await opened('candidate')).toEqual({ URL: 'pg://db2.internal/x', HOST: 'db2.internal' });
  expect(await opened()).toEqual({ URL: 'pg://db.internal/x', FILE: 'pem' });
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
  expect(await opened()).toEqual({ URL: 'pg://db.internal/x', FILE: 'pem' });
  expect((await list()).changes).toHaveLength(2);
});

test('sealed bytes stay the same while nothing changes, and a new key of the server seals anew', async () => {
  await connect();
  await set([{ name: 'A', value: 'one' }]);
  await goLive(first);
  const sealed = async () => (await world.desired()).apps.find((spec) => spec.appId === appId)?.live?.secrets?.sealed;
  const before = await sealed();
  expect(await sealed()).toEqual(before);
  const number = (await world.desired()).version?.number ?? 0n;
  identity = await generateIdentity();
  recipient = await identityToRecipient(identity);
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

test('secrets that do not fit together fail the deployment with what is wrong, also when they broke during its build', async () => {
  await connect();
  await world.advance(first);
  await set([{ name: 'A', value: at('B') }]);
  await world.report({ builds: [builtStatus(first)] });
  expect(await get(first)).toMatchObject({ state: 'failed', failureCode: 'secret.unresolved' });
  expect((await get(first)).failureMessage).toBe(
    'A refers to B, which does not exist. Add it, or correct the reference.',
  );
  expect((await list()).problems).toHaveLength(1);
  const second = await deploy();
  await world.advance(second);
  expect(await get(second)).toMatchObject({ state: 'failed', failureCode: 'secret.unresolved' });
});

test('a value that was changed in the database, or lies at another place, is an error and nothing else', async () => {
  await connect();
  await set([
    { name: 'A', value: 'one', sealed: false },
    { name: 'B', value: 'two', sealed: false },
  ]);
  const [secretId, otherId] = [await idOf('A'), await idOf('B')];
  await world.system(async ({ tx }) => {
    const other = await tx.secretVersion.findFirstOrThrow({ where: { secretId: otherId } });
    await tx.secretVersion.updateMany({ where: { secretId }, data: { envelope: other.envelope } });
  });
  const refused = { code: 'secret.undecryptable' };
  await expect(world.tenant((ctx) => revealSecret(ctx, { secretId, number: 1 }, world.keys))).rejects.toMatchObject(
    refused,
  );
  await expect(set([{ name: 'A', value: 'one' }])).rejects.toMatchObject(refused);
  await world.advance(first);
  await world.report({ builds: [builtStatus(first)] });
  // Nothing is sent in its place that could be taken for it, and the agent cannot open what is.
  const state = await world.desired();
  expect(state.apps.find((spec) => spec.appId === appId)?.candidate?.release?.secrets?.sealed).toEqual(
    new Uint8Array([0]),
  );
});

test('an app whose secrets do not open is held back alone: its neighbours go on, and its page says why', async () => {
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
  const render = () => world.system((ctx) => renderDesiredState(ctx, { serverId: world.serverId, sealer: sealer() }));
  const problems = async () =>
    Promise.all(
      ['shop', 'neighbour'].map(
        async (slug) => (await world.tenant((ctx) => getApp(ctx, { slug }, { localHttpsPort: 443 }))).secretsProblem,
      ),
    );
  const state = await render();
  const secretsOf = (id: string) => state.apps.find((spec) => spec.appId === id)?.live?.secrets;
  expect(secretsOf(appId)?.sealed).toHaveLength(1);
  expect(secretsOf(neighbour.appId)?.sealed.length).toBeGreaterThan(100);
  // The same version as before: what runs with it is not started anew for that.
  expect(secretsOf(appId)?.version).toMatch(/^scs_/);
  expect(await problems()).toEqual(['undecryptable', null]);
  await write(old?.envelope ?? envelope);
  await render();
  expect(await problems()).toEqual([null, null]);
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

test('whatever was stored: a state holds what fits of it, what matters most first', () => {
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

test('secrets that expire soon are told once, and stand on the first page until the date is changed', async () => {
  const days = (count: number) => new Date(world.clock.now().getTime() + count * 86_400_000);
  await set([
    { name: 'SOON', value: 'x', expiresAt: days(3) },
    { name: 'LATER', value: 'y', expiresAt: days(60) },
  ]);
  const mine = async () =>
    (await world.system(recordSecretReminders)).filter(({ organizationId }) => organizationId === world.organizationId);
  expect(await mine()).toMatchObject([
    {
      recipients: [`owner@acme-${count}.example.test`],
      secrets: [{ name: 'SOON', ownerName: 'Shop', appSlug: 'shop' }],
    },
  ]);
  expect(await mine()).toEqual([]);
  const soon = () => world.tenant((ctx) => listExpiringSecrets(ctx, 5));
  expect((await soon()).map(({ name }) => name)).toEqual(['SOON']);
  await set([{ name: 'SOON', expiresAt: days(5) }]);
  expect(await mine()).toMatchObject([{ secrets: [{ name: 'SOON' }] }]);
  await set([{ name: 'SOON', expiresAt: null }]);
  expect(await soon()).toEqual([]);
});

test('names that the repository expects and nobody set are told, of the release and of the next one', async () => {
  await connect();
  const missingOf = async (deploymentId: string) =>
    (await world.tenant((ctx) => getDeployment(ctx, { deploymentId: parseId('dep', deploymentId) }))).missingNames;
  await set([{ name: 'A', value: 'x' }]);
  expect(await list()).toMatchObject({ expectedNames: [], missingNames: [] });
  await world.advance(first);
  // The last four could never be set: two are Fairlead's, one is no name, and one is there already.
  const expectedVariables = ['A', 'B', 'C', 'PORT', 'LD_PRELOAD', 'no name', 'B'];
  await world.report({ builds: [builtStatus(first, { expectedVariables })] });
  await world.report({ rollouts: [rolloutStatus(first, WorkState.SUCCEEDED)] });
  expect(await list()).toMatchObject({ expectedNames: ['A', 'B', 'C'], missingNames: ['B', 'C'] });
  expect(await missingOf(first)).toEqual(['B', 'C']);

  // A secret or a variable of the settings will do; the release that is live went without them all the same.
  await set([{ name: 'B', value: 'y' }]);
  await world.tenant((ctx) => updateConfig(ctx, { appId, settings: { variables: { C: 'plain' } } }));
  expect(await list()).toMatchObject({ expectedNames: ['A', 'B', 'C'], missingNames: [] });
  expect(await missingOf(first)).toEqual(['B', 'C']);
  const { deploymentId } = await world.tenant((ctx) => deploySecrets(ctx, { appId }));
  await rollOut(deploymentId);
  // Newer secrets alone: its settings stay as they were.
  expect(await missingOf(deploymentId)).toEqual(['C']);
  const next = await world.tenant((ctx) => createDeployment(ctx, { appId }));
  await world.advance(next.deploymentId);
  await world.report({ builds: [builtStatus(next.deploymentId, { expectedVariables })] });
  expect(await missingOf(next.deploymentId)).toEqual([]);
});

test('however many names a server tells, a release keeps a bounded number', async () => {
  await world.advance(first);
  const expectedVariables = Array.from({ length: 5000 }, (_, index) => `NAME_${index}`);
  await world.report({ builds: [builtStatus(first, { expectedVariables })] });
  expect((await list()).expectedNames).toHaveLength(200);
});

test('delivery by file is told to the agent', async () => {
  await connect();
  await set([
    { name: 'A', value: 'x', delivery: 'file' },
    { name: 'B', value: 'y' },
  ]);
  await goLive(first);
  const state = await world.desired();
  const decrypter = new Decrypter();
  decrypter.addIdentity(identity);
  const sealed = state.apps[0]?.live?.secrets?.sealed ?? new Uint8Array();
  const { secrets } = fromBinary(SecretBundleSchema, await decrypter.decrypt(sealed));
  expect(secrets.map(({ name, delivery }) => [name, delivery])).toEqual([
    ['A', SecretDelivery.FILE],
    ['B', SecretDelivery.ENVIRONMENT],
  ]);
});

let dir: string | null = null;
afterEach(async () => {
  if (dir !== null) await rm(dir, { recursive: true });
  dir = null;
});

test('data keys and the master key are rotated while values are read and written, and nothing is lost', async () => {
  dir = await mkdtemp(join(tmpdir(), 'fairlead-rotation-'));
  const path = join(dir, 'master-key');
  await writeFile(path, `${randomBytes(32).toString('base64url')}\n`, { mode: 0o600 });
  // Two processes: what one has cached, the other has not.
  const [web, worker] = [
    createSecretKeys(await openMasterKeyFile(path)),
    createSecretKeys(await openMasterKeyFile(path)),
  ];
  const names = Array.from({ length: 12 }, (_, index) => `N${index}`);
  const owner = { appId };
  const write = (round: number) =>
    world.tenant((ctx) =>
      updateSecrets(
        ctx,
        { owner, items: names.map((name) => ({ name, value: `${name} ${round}`, sealed: false })) },
        web,
      ),
    );
  await write(0);
  const ids = new Map((await list()).secrets.map(({ name, id }) => [name, id]));
  const read = async (keys: typeof web) => {
    for (const { name, number } of (await list()).secrets) {
      const secretId = ids.get(name) ?? parseId('sec', 'sec_0');
      const { value } = await world.tenant((ctx) => revealSecret(ctx, { secretId, number }, keys));
      expect(value).toBe(`${name} ${number - 1}`);
    }
  };
  const rotate = async () => {
    for (;;) {
      const { rewrapped, reencrypted } = await world.system((ctx) => rotateValues(ctx, worker));
      if (rewrapped + reencrypted === 0) return;
    }
  };
  const keyIds = () =>
    world.system(({ tx }) => tx.dataKey.findMany({ where: { organizationId: world.organizationId } }));
  const before = await keyIds();

  for (let round = 1; round <= 4; round += 1) {
    await Promise.all([
      write(round),
      read(web),
      read(worker),
      world.tenant((ctx) => rotateDataKey(ctx, web)),
      round % 2 === 0 ? addMasterKey(path) : rotate(),
      rotate(),
    ]);
  }
  await rotate();
  await rotate();
  const after = await keyIds();
  expect(after).toHaveLength(1);
  expect(after[0]?.id).not.toBe(before[0]?.id);
  expect(after[0]?.masterKeyId).toBe(await web.wrapper.keyId());
  await pruneMasterKeys(path, await world.system(listMasterKeysInUse));
  const fresh = createSecretKeys(await openMasterKeyFile(path));
  await read(fresh);
  for (const [name, secretId] of ids) {
    const { versions } = await world.tenant((ctx) => listSecretVersions(ctx, { secretId }));
    expect(versions).toHaveLength(5);
    for (const { number } of versions) {
      const { value } = await world.tenant((ctx) => revealSecret(ctx, { secretId, number }, fresh));
      expect(value).toBe(`${name} ${number - 1}`);
    }
  }
});

test('an organization ends with all its secrets and keys', async () => {
  await connect();
  await set([{ name: 'A', value: 'x' }]);
  await goLive(first);
  const { organizationId } = world;
  await world.system(async ({ tx }) => {
    await tx.placement.deleteMany({ where: { organizationId } });
    await tx.deployment.deleteMany({ where: { organizationId } });
    await tx.organization.delete({ where: { id: organizationId } });
    expect(await tx.dataKey.count({ where: { organizationId } })).toBe(0);
    expect(await tx.secretVersion.count({ where: { organizationId } })).toBe(0);
  });
});
