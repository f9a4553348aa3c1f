// Tests for build secrets: builds get only secrets that are marked for them, sealed to the build server, as of their
// start.
import { fromBinary } from '@bufbuild/protobuf';
import { type SecretBundle, SecretBundleSchema } from '@fairlead/contract/agent';
import { type AppId, newId, parseId } from '@fairlead/contract/ids';
import { Decrypter, generateIdentity, identityToRecipient } from 'age-encryption';
import { beforeEach, expect, test } from 'vitest';
import { updateConfig } from '../app/index.ts';
import { prepareDesiredState } from '../desired-state/index.ts';
import { builtStatus, type TestWorld, testUrl } from '../testing/index.ts';
import {
  attachSecretGroup,
  createSecretGroup,
  createSecretSealer,
  listSecretVersions,
  restoreSecret,
} from './index.ts';
import { secretStage } from './testing.ts';

let world: TestWorld;
let appId: AppId;
let first: string;
const capabilities = ['build.plan', 'secret', 'transfer'];
const identities = new Map<string, string>();
const { set, list, idOf, audit, deploy, get } = secretStage((begun) => {
  ({ world, appId, first } = begun);
});

beforeEach(() => giveKey(world.serverId));

async function giveKey(serverId: string): Promise<void> {
  const identity = await generateIdentity();
  identities.set(serverId, identity);
  const sealingRecipient = await identityToRecipient(identity);
  await world.system(({ tx }) =>
    tx.server.update({ where: { id: serverId }, data: { capabilities, sealingRecipient } }),
  );
}

async function addBuilder(): Promise<string> {
  const id = newId('srv');
  const { organizationId } = world;
  const at = world.clock.now();
  const data = { id, organizationId, name: 'builder', publicKey: Buffer.from(id), capabilities };
  await world.system(({ tx }) =>
    tx.server.create({ data: { ...data, connectedGateway: 'test-gateway', connectedAt: at, lastSeenAt: at } }),
  );
  return id;
}

const at = (reference: string) => `$\{{ ${reference} }}`;
const stateOf = (serverId: string) =>
  prepareDesiredState(world.system, { serverId, sealer: createSecretSealer(world.keys), urlOf: testUrl });

async function openedOf(serverId: string, sealed: Uint8Array): Promise<SecretBundle> {
  const decrypter = new Decrypter();
  decrypter.addIdentity(identities.get(serverId) ?? '');
  return fromBinary(SecretBundleSchema, await decrypter.decrypt(sealed));
}

/** Null: the build is given none. */
async function given(serverId: string = world.serverId): Promise<Record<string, string> | null> {
  const state = await stateOf(serverId);
  const build = state.builds.find((spec) => spec.appId === appId);
  if (build === undefined) throw new Error('nothing is built there');
  if (build.secrets === undefined) return null;
  expect(state.requires).toContain('secret');
  const bundle = await openedOf(serverId, build.secrets.sealed);
  expect(bundle).toMatchObject({ appId, environmentId: build.environmentId, version: build.secrets.version });
  return Object.fromEntries(bundle.secrets.map(({ name, value }) => [name, Buffer.from(value).toString('utf8')]));
}

test('a build gets only marked secrets, with references substituted; no mark, no secrets', async () => {
  const { groupId } = await world.tenant((ctx) => createSecretGroup(ctx, { name: 'npm' }));
  await world.tenant((ctx) => attachSecretGroup(ctx, { groupId, appId }));
  await set([{ name: 'TOKEN', value: 'of the group', atBuild: true }], { groupId });
  await set([
    { name: 'REGISTRY', value: `https://${at('HOST')}`, atBuild: true },
    { name: 'HOST', value: 'npm.internal' },
    { name: 'DATABASE_URL', value: 'for running alone' },
  ]);
  await world.advance(first);
  expect(await given()).toEqual({ TOKEN: 'of the group', REGISTRY: 'https://npm.internal' });

  await world.finish(first);
  await set([{ name: 'TOKEN', atBuild: false }], { groupId });
  await set([{ name: 'REGISTRY', atBuild: false }]);
  const second = await deploy();
  await world.advance(second);
  expect(await given()).toBeNull();
});

test('changes during a build wait for the next deployment', async () => {
  await set([{ name: 'TOKEN', value: 'one', atBuild: true }]);
  await world.advance(first);
  await set([
    { name: 'TOKEN', value: 'two' },
    { name: 'LATE', value: 'marked since', atBuild: true },
  ]);
  expect(await given()).toEqual({ TOKEN: 'one' });
  await world.finish(first);
  await world.advance(await deploy());
  expect(await given()).toEqual({ TOKEN: 'two', LATE: 'marked since' });
});

test('another server builds with the marked ones sealed to itself; the app has all of them, the builder no others', async () => {
  await set([
    { name: 'TOKEN', value: 'for builds', atBuild: true },
    { name: 'DATABASE_URL', value: 'for running alone' },
  ]);
  const builder = await addBuilder();
  await world.tenant((ctx) => updateConfig(ctx, { appId, settings: { buildServerId: parseId('srv', builder) } }));
  await world.advance(first);
  // The server sent no key, and a build must not run without its secrets.
  expect(await get(first)).toMatchObject({ state: 'failed', failureCode: 'secret.server_cannot_open' });

  await giveKey(builder);
  const second = await deploy();
  await world.advance(second);
  expect((await get(second)).state).toBe('building');
  expect(await given(builder)).toEqual({ TOKEN: 'for builds' });
  const state = await stateOf(builder);
  const sealed = state.builds[0]?.secrets?.sealed ?? new Uint8Array();
  await expect(openedOf(world.serverId, sealed)).rejects.toThrow();
  expect((await stateOf(world.serverId)).builds).toEqual([]);
  expect(state.apps).toEqual([]);
});

test('an undecryptable secret is held back from the build, which fails with a sentence; builds without marks continue', async () => {
  await set([{ name: 'TOKEN', value: 'one', atBuild: true }]);
  await world.advance(first);
  const secretId = await idOf('TOKEN');
  await world.system(({ tx }) =>
    tx.secretVersion.updateMany({ where: { secretId }, data: { envelope: new Uint8Array(64) } }),
  );
  expect((await stateOf(world.serverId)).builds[0]?.secrets?.sealed).toEqual(new Uint8Array([0]));
  await world.report({ builds: [builtStatus(first)] });
  await set([{ name: 'TOKEN', value: 'two', atBuild: false }]);
  await world.finish(first);
  await world.advance(await deploy());
  expect(await given()).toBeNull();
});

test('the build mark is a part of each version: listed, kept by a new value, restored, audited, never deployed by itself', async () => {
  await set([{ name: 'TOKEN', value: 'one' }]);
  expect((await list()).secrets).toMatchObject([{ name: 'TOKEN', number: 1, atBuild: false }]);
  expect(await set([{ name: 'TOKEN', atBuild: true }])).toMatchObject({ changed: ['TOKEN'] });
  expect(await set([{ name: 'TOKEN', atBuild: true }])).toMatchObject({ unchanged: ['TOKEN'] });
  await set([{ name: 'TOKEN', value: 'two' }]);
  expect((await list()).secrets).toMatchObject([{ number: 3, atBuild: true }]);
  const secretId = await idOf('TOKEN');
  await world.tenant((ctx) => restoreSecret(ctx, { secretId, number: 1 }, world.keys));
  const { versions } = await world.tenant((ctx) => listSecretVersions(ctx, { secretId }));
  expect(versions.map(({ number, atBuild }) => [number, atBuild])).toEqual([
    [4, false],
    [3, true],
    [2, true],
    [1, false],
  ]);
  const marked = (await audit()).find(({ action, after }) => action === 'secret.update' && after !== null);
  expect(marked).toMatchObject({ before: { atBuild: false }, after: { atBuild: true } });
});
