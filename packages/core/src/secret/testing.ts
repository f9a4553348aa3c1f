// Shared set-up of the secret tests: an organization with an app and a server that has a key, and the steps from a new
// secret to its release.
import { fromBinary } from '@bufbuild/protobuf';
import { type SecretBundle, SecretBundleSchema, WorkState } from '@fairlead/contract/agent';
import { type AppId, parseId } from '@fairlead/contract/ids';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { Decrypter, generateIdentity, identityToRecipient } from 'age-encryption';
import { afterAll, beforeAll, beforeEach, expect } from 'vitest';
import { createDeployment, getDeployment } from '../deployment/index.ts';
import { openSession } from '../server/index.ts';
import { auditEventsOf, rolloutStatus, type TestWorld, testWorld } from '../testing/index.ts';
import { listSecrets, type SecretItem, type SecretOwner, updateSecrets } from './index.ts';

export interface Begun {
  readonly world: TestWorld;
  readonly appId: AppId;
  /** The app's first deployment, not begun. */
  readonly first: string;
}

/** Registers the set-up and clean-up of a test file; each test gets its own organization through `begin`. */
export function secretStage(begin: (begun: Begun) => void) {
  let db: TestDatabase;
  let world: TestWorld;
  let appId: AppId;
  let identity: string;
  let count = 0;
  beforeAll(async () => {
    db = await testDatabase({ poolMax: 8 });
    identity = await generateIdentity();
  });
  afterAll(() => db.drop());
  beforeEach(async () => {
    count += 1;
    world = await testWorld(db.database, `acme-${count}`);
    const app = await world.createApp('Shop');
    appId = app.appId;
    begin({ world, appId, first: app.deploymentId ?? '' });
  });

  const list = () => world.tenant((ctx) => listSecrets(ctx, { appId }));

  async function open(sealed: Uint8Array): Promise<SecretBundle> {
    const decrypter = new Decrypter();
    decrypter.addIdentity(identity);
    return fromBinary(SecretBundleSchema, await decrypter.decrypt(sealed));
  }

  return {
    list,
    set: (items: SecretItem[], owner: SecretOwner = { appId }) =>
      world.tenant((ctx) => updateSecrets(ctx, { owner, items }, world.keys)),
    idOf: async (name: string) => {
      const found = (await list()).secrets.find((secret) => secret.name === name);
      if (found === undefined) throw new Error(`no secret ${name}`);
      return found.id;
    },
    audit: async () => (await auditEventsOf(world)).filter(({ action }) => action.startsWith('secret.')),
    /** Connects the agent and sends its key. */
    connect: async () => {
      const recipient = await identityToRecipient(identity);
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
    },
    /** The server lost its key and made another one. */
    renewKey: async () => {
      identity = await generateIdentity();
    },
    goLive: async (deploymentId: string) => {
      await world.advance(deploymentId);
      await world.finish(deploymentId);
    },
    /** Rolls out without a build. */
    rollOut: async (deploymentId: string) => {
      await world.advance(deploymentId);
      await world.report({ rollouts: [rolloutStatus(deploymentId, WorkState.SUCCEEDED)] });
    },
    open,
    opened: async (which: 'live' | 'candidate' = 'live') => {
      const state = await world.desired();
      const app = state.apps.find((spec) => spec.appId === appId);
      const release = which === 'live' ? app?.live : app?.candidate?.release;
      if (release?.secrets === undefined) return null;
      expect(state.requires).toContain('secret');
      const bundle = await open(release.secrets.sealed);
      expect(bundle).toMatchObject({ appId, version: release.secrets.version });
      return Object.fromEntries(bundle.secrets.map(({ name, value }) => [name, Buffer.from(value).toString('utf8')]));
    },
    deploy: async () => (await world.tenant((ctx) => createDeployment(ctx, { appId }))).deploymentId,
    get: (deploymentId: string) =>
      world.tenant((ctx) => getDeployment(ctx, { deploymentId: parseId('dep', deploymentId) })),
  };
}
