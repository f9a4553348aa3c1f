// Tests for source credentials: encrypted under the organization's key, sealed to the server that builds, and never
// shown.
import { fromBinary } from '@bufbuild/protobuf';
import { SecretBundleSchema } from '@fairlead/contract/agent';
import { type AppId, newId, parseId } from '@fairlead/contract/ids';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { Decrypter, generateIdentity, identityToRecipient } from 'age-encryption';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { updateConfig } from '../app/index.ts';
import { createDeployment, getDeployment } from '../deployment/index.ts';
import { prepareDesiredState } from '../desired-state/index.ts';
import { attachServer } from '../placement/index.ts';
import { createSecretSealer } from '../secret/index.ts';
import { type TestWorld, testUrl, testWorld } from '../testing/index.ts';
import {
  deleteCredential,
  listCredentials,
  rotateKey,
  updateCredential,
  updateCredentialInputSchema,
} from './index.ts';

let db: TestDatabase;
let world: TestWorld;
let appId: AppId;
let other: string;
let count = 0;
const identities = new Map<string, string>();
const capabilities = ['build.plan', 'secret', 'transfer', 'container'];

beforeAll(async () => {
  db = await testDatabase();
});
afterAll(() => db.drop());
beforeEach(async () => {
  count += 1;
  world = await testWorld(db.database, `acme-${count}`);
  ({ appId } = await world.createApp('Shop', { host: `shop-${count}.example.test`, deployNow: false }));
  other = newId('srv');
  const at = world.clock.now();
  await world.system(({ tx }) =>
    tx.server.create({
      data: {
        id: other,
        organizationId: world.organizationId,
        name: 'edge',
        publicKey: new Uint8Array(32).fill(count),
        connectedGateway: 'test-gateway',
        connectedAt: at,
        lastSeenAt: at,
      },
    }),
  );
  for (const serverId of [world.serverId, other]) {
    const identity = await generateIdentity();
    identities.set(serverId, identity);
    const sealingRecipient = await identityToRecipient(identity);
    await world.system(({ tx }) =>
      tx.server.update({ where: { id: serverId }, data: { capabilities, sealingRecipient } }),
    );
  }
});

const setUrl = (repositoryUrl: string) =>
  world.system(({ tx }) => tx.app.update({ where: { id: appId }, data: { repositoryUrl } }));
async function build(): Promise<void> {
  const { deploymentId } = await world.tenant((ctx) => createDeployment(ctx, { appId }));
  await world.advance(deploymentId);
  const { state, failureMessage } = await world.tenant((ctx) => getDeployment(ctx, { deploymentId }));
  expect([state, failureMessage]).toEqual(['building', null]);
}
const stateOf = (serverId: string) =>
  prepareDesiredState(world.system, { serverId, sealer: createSecretSealer(world.keys), urlOf: testUrl });
async function sealedFor(serverId: string): Promise<Uint8Array | undefined> {
  return (await stateOf(serverId)).builds.find((spec) => spec.appId === appId)?.credentials?.sealed;
}
async function opened(serverId: string, sealed: Uint8Array): Promise<Record<string, string>> {
  const decrypter = new Decrypter();
  decrypter.addIdentity(identities.get(serverId) ?? '');
  const bundle = fromBinary(SecretBundleSchema, await decrypter.decrypt(sealed));
  // The bundle names its app, so that it opens for no other.
  expect(bundle.appId).toBe(appId);
  return Object.fromEntries(bundle.secrets.map(({ name, value }) => [name, Buffer.from(value).toString('utf8')]));
}

test('a deploy key reaches only the server that builds, sealed to it, and no other server of the app', async () => {
  await setUrl('ssh://git@git.example.test/shop.git');
  const view = await world.tenant((ctx) =>
    rotateKey(ctx, { appId, knownHosts: 'git.example.test ssh-ed25519 AAAA' }, world.keys),
  );
  expect(view.publicKey).toMatch(/^ssh-ed25519 /);
  await world.tenant((ctx) => attachServer(ctx, { appId, serverId: parseId('srv', other) }));
  await build();
  const sealed = (await sealedFor(world.serverId)) ?? new Uint8Array();
  const names = await opened(world.serverId, sealed);
  expect(Object.keys(names).sort()).toEqual(['ssh_key', 'ssh_known_hosts']);
  expect(names.ssh_key).toContain('BEGIN OPENSSH PRIVATE KEY');
  expect(names.ssh_known_hosts).toBe('git.example.test ssh-ed25519 AAAA');
  await expect(opened(other, sealed)).rejects.toThrow();
  expect(await sealedFor(other)).toBeUndefined();
  expect((await stateOf(world.serverId)).requires).toContain('build.plan');
});

test('only a credential that fits the source is sent: a registry password never to a clone, a repository password never to a pull', async () => {
  for (const kind of ['https', 'registry'] as const) {
    const host = kind === 'registry' ? 'registry.example.test' : 'git.example.test';
    const credential = { appId, kind, host, username: `of-${kind}`, password: `word-of-${kind}` };
    await world.tenant((ctx) => updateCredential(ctx, credential, world.keys));
  }
  await build();
  const cloned = await opened(world.serverId, (await sealedFor(world.serverId)) ?? new Uint8Array());
  expect(cloned).toEqual({ username: 'of-https', password: 'word-of-https' });
  await world.system(({ tx }) => tx.deployment.updateMany({ where: { appId }, data: { state: 'failed' } }));
  const settings = { builder: 'image' as const, image: 'registry.example.test/shop:1' };
  await world.tenant((ctx) => updateConfig(ctx, { appId, settings }));
  await build();
  const pulled = await opened(world.serverId, (await sealedFor(world.serverId)) ?? new Uint8Array());
  expect(pulled).toEqual({ username: 'of-registry', password: 'word-of-registry' });
});

/** Returns the outcome of an attack's deployment, and what its build was sent. */
async function attack(): Promise<{ state: string; message: string | null; sealed: Uint8Array | undefined }> {
  const { deploymentId } = await world.tenant((ctx) => createDeployment(ctx, { appId }));
  await world.advance(deploymentId);
  const { state, failureMessage } = await world.tenant((ctx) => getDeployment(ctx, { deploymentId }));
  // Other rules may stop the build, but its state must not hold the password.
  await world.system(({ tx }) =>
    tx.deployment.update({ where: { id: deploymentId }, data: { state: 'building', buildServerId: world.serverId } }),
  );
  const sealed = await sealedFor(world.serverId);
  await world.system(({ tx }) => tx.deployment.update({ where: { id: deploymentId }, data: { state: 'failed' } }));
  return { state, message: failureMessage, sealed };
}

test('a password never follows the address of a repository or image to another host or port', async () => {
  await setUrl('https://git.example.test/shop.git');
  const login = { appId, username: 'ada', password: 'open-sesame' };
  const host = 'git.example.test';
  await world.tenant((ctx) => updateCredential(ctx, { ...login, kind: 'https', host }, world.keys));
  for (const url of ['https://attacker.example.test/collect.git', 'https://git.example.test:8443/shop.git']) {
    await setUrl(url);
    const { state, message, sealed } = await attack();
    expect([state, sealed], url).toEqual(['failed', undefined]);
    expect(message).toContain(`entered for ${host}, but the source is now at ${new URL(url).host}`);
  }
  // The same host gets the password, for any repository name.
  await setUrl('https://git.example.test/renamed.git');
  expect((await attack()).sealed).toBeInstanceOf(Uint8Array);

  const pull = (image: string) =>
    world.tenant((ctx) => updateConfig(ctx, { appId, settings: { builder: 'image', image } }));
  await pull('registry.example.test:5000/shop:1');
  const registry = 'registry.example.test:5000';
  await world.tenant((ctx) => updateCredential(ctx, { ...login, kind: 'registry', host: registry }, world.keys));
  expect((await attack()).sealed).toBeInstanceOf(Uint8Array);
  for (const image of ['attacker.example.test/x:1', 'registry.example.test/shop:1', 'shop:1']) {
    await pull(image);
    const { state, message, sealed } = await attack();
    expect([state, sealed], image).toEqual(['failed', undefined]);
    expect(message).toContain('entered for registry.example.test:5000');
  }
});

test('a password without a known host is sent nowhere, and one cannot be stored without a host', async () => {
  await setUrl('https://git.example.test/shop.git');
  const login = { appId, username: 'ada', password: 'open-sesame' };
  const stored = { ...login, kind: 'https' as const, host: 'git.example.test' };
  await world.tenant((ctx) => updateCredential(ctx, stored, world.keys));
  await world.system(({ tx }) => tx.sourceCredential.updateMany({ where: { appId }, data: { host: '' } }));
  const { state, message, sealed } = await attack();
  expect([state, sealed]).toEqual(['failed', undefined]);
  expect(message).toContain('enter the password for git.example.test');
  // A member without the password may have changed the source URL, so its host is never a default.
  for (const host of [undefined, '', ' ']) {
    expect(updateCredentialInputSchema.safeParse({ ...stored, host }).error?.issues[0]?.path).toEqual(['host']);
  }
  expect(updateCredentialInputSchema.parse(stored)).toEqual(stored);
});

test('no row, list or audit event holds one in the clear, and one that was deleted is sent no more', async () => {
  const password = 'a-word-that-nobody-sees';
  await world.tenant((ctx) =>
    updateCredential(ctx, { appId, kind: 'https', host: 'git.example.test', username: 'ada', password }, world.keys),
  );
  const { listed, rows, events } = await world.tenant(async (ctx) => ({
    listed: await listCredentials(ctx, { appId }),
    rows: await ctx.tx.sourceCredential.findMany(),
    events: await ctx.tx.auditEvent.findMany(),
  }));
  const text = [
    listed,
    rows.map((row) => ({ ...row, envelope: Buffer.from(row.envelope).toString('latin1') })),
    events,
  ];
  expect(JSON.stringify(text, (_, value) => (typeof value === 'bigint' ? String(value) : value))).not.toContain(
    password,
  );
  await world.tenant((ctx) => deleteCredential(ctx, { appId, kind: 'https' }));
  await build();
  expect(await sealedFor(world.serverId)).toBeUndefined();
});
