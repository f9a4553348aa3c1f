// One call of each mutation, with a valid input. A new mutation without an entry here does not compile.
import type { AuditAction } from '@fairlead/contract/audit-actions';
import { newId, parseId } from '@fairlead/contract/ids';
import { expect } from 'vitest';
import type { AppRouter } from '../../index.ts';
import { testAgent } from '../test-api.ts';
import { type AuditStage, auditInputs } from './inputs.ts';

// A person's own account belongs to no organization and so to no audit log: what happens to it is written to account_event,
// which packages/auth's tests hold.
type Features = Omit<AppRouter['_def']['record'], 'account'>;
type MutationsOf<Feature extends keyof Features> = {
  [Verb in keyof Features[Feature] & string]: Features[Feature][Verb] extends { _def: { type: 'mutation' } }
    ? `${Feature}.${Verb}`
    : never;
}[keyof Features[Feature] & string];
type Mutation = { [Feature in keyof Features]: MutationsOf<Feature> }[keyof Features];

export interface AuditCall {
  /** Creates the rows that the input names. */
  input(): Promise<unknown>;
  /** The action it is written down as; null for what only reads and is a mutation to keep its input out of the address. */
  readonly action: AuditAction | null;
  /** Puts back what would be in the others' way. */
  after?(): Promise<unknown>;
  /** Without it, the owner calls. Asked after the input was made. */
  by?(): { readonly cookie: string; readonly userId: string };
  /** Without it, it happens in the world's organization. Asked after the input was made. */
  at?(): { readonly id: string; readonly slug: string };
  /** Organization of the log entry, if it is only known after the call. */
  logOf?(answer: unknown): string;
  /** For procedures that no member calls. */
  readonly asStranger?: true;
}

export function auditCalls(stage: AuditStage): Readonly<Record<Mutation, AuditCall>> {
  const {
    caller,
    newApp,
    liveApp,
    newEnvironmentOf,
    newPlace,
    newServer,
    newVolume,
    environmentId,
    setProtected,
    awaitingDeployment,
    newRole,
    newAccount,
    newMember,
    newGrant,
    newInvitation,
    newInvitationToken,
    newSecret,
    newGroup,
    newAttachment,
    newOrganization,
    setOwner,
  } = auditInputs(stage);
  return {
    'app.create': {
      action: 'app.create',
      input: async () => ({
        name: 'Made',
        source: { kind: 'git', repositoryUrl: 'https://git.example.test/shop.git' },
        serverIds: [stage.api.world.serverId],
      }),
    },
    'app.scale': { action: 'app.scale', input: async () => ({ appId: (await newApp()).appId, instances: 2 }) },
    'app.update': { action: 'app.update', input: async () => ({ appId: (await newApp()).appId, healthPath: '/up' }) },
    'app.delete': {
      action: 'app.delete',
      input: async () => {
        const { appId } = await newApp();
        return { appId, confirmName: `App ${stage.made}` };
      },
    },
    'app.addEnvironment': {
      action: 'app.add_environment',
      input: async () => newEnvironmentOf((await newApp()).appId),
    },
    'app.attachServer': {
      action: 'app.attach_server',
      input: async () => ({ appId: (await newApp()).appId, serverId: await newServer() }),
    },
    'app.detachServer': {
      action: 'app.detach_server',
      input: async () => {
        const { appId } = await newApp();
        return caller().app.attachServer({ appId, serverId: await newServer() });
      },
    },
    'app.detachEnvironment': {
      action: 'app.detach_environment',
      input: async () => {
        const { appId } = await newApp();
        const confirmName = `App ${stage.made}`;
        return { ...(await newPlace(appId)), confirmName };
      },
    },
    'config.update': {
      action: 'config.update',
      input: async () => ({ appId: (await newApp()).appId, settings: { releasesKept: 7 } }),
    },
    'credential.rotateKey': { action: 'credential.rotate', input: async () => ({ appId: (await newApp()).appId }) },
    'credential.update': {
      action: 'credential.update',
      input: async () => ({
        appId: (await newApp()).appId,
        kind: 'https',
        host: 'git.example.test',
        username: 'ada',
        password: 'hunter2',
      }),
    },
    'credential.delete': {
      action: 'credential.delete',
      input: async () => {
        const { appId } = await newApp();
        await caller().credential.rotateKey({ appId });
        return { appId, kind: 'ssh' };
      },
    },
    'volume.delete': { action: 'volume.delete', input: async () => newVolume() },
    'volume.restore': {
      action: 'volume.restore',
      input: async () => {
        const wish = await newVolume();
        await caller().volume.delete(wish);
        return { volumeId: wish.volumeId };
      },
    },
    'benchmark.create': {
      action: 'benchmark.create',
      input: async () => ({ appId: (await liveApp()).appId, plan: {} }),
    },
    'benchmark.cancel': {
      action: 'benchmark.cancel',
      input: async () => {
        await stage.api.world.system(({ tx }) =>
          tx.benchmarkRun.updateMany({ data: { state: 'succeeded', finishedAt: stage.api.world.clock.now() } }),
        );
        return caller().benchmark.create({ appId: (await liveApp()).appId, plan: {} });
      },
    },
    'deployment.create': { action: 'deployment.create', input: async () => ({ appId: (await newApp()).appId }) },
    'deployment.redeploy': {
      action: 'deployment.redeploy',
      input: async () => ({ deploymentId: (await liveApp()).deploymentId }),
    },
    'deployment.retry': {
      action: 'deployment.retry',
      input: async () => {
        const deploymentId = parseId('dep', (await newApp({ deployNow: true })).deploymentId ?? '');
        await caller().deployment.cancel({ deploymentId });
        return { deploymentId };
      },
    },
    'deployment.promote': {
      action: 'deployment.promote_release',
      input: async () => {
        const { appId } = await liveApp();
        const { environmentId } = await newPlace(appId);
        const release = await stage.api.world.system(({ tx }) => tx.release.findFirstOrThrow({ where: { appId } }));
        return { environmentId, releaseId: release.id };
      },
    },
    'deployment.pause': {
      action: 'deployment.pause',
      input: async () => ({ appId: (await newApp()).appId, paused: true }),
    },
    'deployment.rollback': {
      action: 'deployment.rollback',
      input: async () => {
        const { appId } = await liveApp();
        const [first] = await stage.api.world.system(({ tx }) => tx.release.findMany({ where: { appId } }));
        const { deploymentId } = await caller().deployment.create({ appId });
        await stage.api.world.advance(deploymentId);
        await stage.api.world.finish(deploymentId);
        return { appId, releaseId: first?.id };
      },
    },
    'deployment.restart': {
      action: 'deployment.restart',
      input: async () => ({ appId: (await liveApp()).appId }),
    },
    'deployment.cancel': {
      action: 'deployment.cancel',
      input: async () => ({ deploymentId: (await newApp({ deployNow: true })).deploymentId }),
    },
    'deployment.deploySecrets': {
      action: 'deployment.deploy_secrets',
      input: async () => ({ appId: (await liveApp()).appId }),
    },
    'domain.attach': {
      action: 'domain.attach',
      input: async () => ({ appId: (await newApp()).appId, host: 'attached.example.test' }),
    },
    'domain.detach': {
      action: 'domain.detach',
      input: async () => {
        const { appId } = await newApp();
        return { domainId: (await caller().domain.attach({ appId, host: 'detached.example.test' })).id };
      },
    },
    'domain.updatePolicy': {
      action: 'domain.update_policy',
      input: async () => {
        const { appId } = await newApp();
        const { id } = await caller().domain.attach({ appId, host: 'ruled.example.test' });
        return { domainId: id, policy: { compress: true } };
      },
    },
    'deployment.approve': { action: 'deployment.approve', input: () => awaitingDeployment() },
    'deployment.refuse': { action: 'deployment.refuse', input: () => awaitingDeployment() },
    'environment.create': { action: 'environment.create', input: async () => ({ name: 'Preview' }) },
    'environment.update': {
      action: 'environment.update',
      input: async () => ({ environmentId: await environmentId(), protected: true }),
      after: () => setProtected(false),
    },
    'environment.delete': {
      action: 'environment.delete',
      input: async () => {
        stage.api.world.clock.forward(1);
        return { ...(await caller().environment.create({ name: 'Ending' })), confirmName: 'Ending' };
      },
    },
    'grant.create': { action: 'grant.create', input: () => newGrant() },
    'grant.delete': {
      action: 'grant.delete',
      input: async () => ({ grantId: (await caller().grant.create(await newGrant())).grantId }),
    },
    'invitation.create': { action: 'invitation.create', input: async () => ({ role: 'viewer' }) },
    'invitation.rotate': {
      action: 'invitation.rotate',
      input: async () => {
        const { invitationId } = await newInvitation();
        // A second one is not sent immediately.
        stage.api.world.clock.forward(60_000);
        return { invitationId };
      },
    },
    'invitation.revoke': { action: 'invitation.revoke', input: () => newInvitation() },
    'invitation.read': { action: null, input: () => newInvitationToken() },
    'invitation.accept': {
      action: 'invitation.accept',
      input: async () => {
        stage.other = await stage.api.signUp(`Guest${++stage.made}`, null);
        return newInvitationToken();
      },
      by: () => stage.other,
    },
    'invitation.claim': {
      action: 'invitation.accept',
      asStranger: true,
      input: async () => ({
        ...(await newInvitationToken()),
        name: 'Newcomer',
        email: 'newcomer@example.test',
        password: 'correct horse battery',
      }),
    },
    'member.update': { action: 'member.update', input: async () => ({ ...(await newMember()), role: 'developer' }) },
    'member.delete': { action: 'member.delete', input: () => newMember() },
    'organization.create': {
      action: 'organization.create',
      input: async () => ({ name: 'Second' }),
      logOf: (answer) => (answer as { id: string }).id,
    },
    'organization.update': {
      action: 'organization.update',
      input: async () => ({ name: 'Acme Ltd' }),
      after: () => caller().organization.update({ name: 'acme' }),
    },
    'organization.transfer': {
      action: 'organization.transfer',
      input: async () => ({ ...(await newMember()), confirmName: 'acme' }),
      after: () => setOwner(),
    },
    'organization.delete': {
      action: 'organization.delete',
      input: () => newOrganization(),
      at: () => stage.elsewhere,
    },
    'organization.restore': {
      action: 'organization.restore',
      input: async () => {
        const deletion = await newOrganization();
        await stage.api.caller(stage.owner.cookie, stage.elsewhere.slug).organization.delete(deletion);
      },
      at: () => stage.elsewhere,
    },
    'organization.leave': {
      action: 'organization.leave',
      input: async () => {
        await newMember();
        return { organizationId: stage.api.world.organizationId };
      },
      by: () => stage.other,
    },
    'role.create': { action: 'role.create', input: async () => ({ name: 'Reader', permissions: ['app.read'] }) },
    'role.update': { action: 'role.update', input: async () => ({ ...(await newRole()), name: 'Renamed' }) },
    'role.delete': { action: 'role.delete', input: () => newRole() },
    'secret.update': {
      action: 'secret.create',
      input: async () => ({ owner: { appId: (await newApp()).appId }, items: [{ name: 'NEW', value: 'hunter2' }] }),
    },
    'secret.delete': { action: 'secret.delete', input: () => newSecret() },
    'secret.restore': { action: 'secret.restore', input: async () => ({ ...(await newSecret()), number: 1 }) },
    'secret.reveal': { action: 'secret.reveal', input: async () => ({ ...(await newSecret()), number: 1 }) },
    'secret.createGroup': { action: 'secret.create_group', input: async () => ({ name: 'shared' }) },
    'secret.deleteGroup': { action: 'secret.delete_group', input: () => newGroup() },
    'secret.attachGroup': { action: 'secret.attach_group', input: () => newAttachment() },
    'secret.detachGroup': {
      action: 'secret.detach_group',
      input: async () => caller().secret.attachGroup(await newAttachment()),
    },
    'secret.rotateKey': { action: 'secret.rotate_key', input: async () => undefined },
    'serviceAccount.create': {
      action: 'service_account.create',
      input: async () => ({ name: 'Pipeline', role: 'deployer' }),
    },
    'serviceAccount.update': {
      action: 'service_account.update',
      input: async () => ({ ...(await newAccount('Updated')), role: 'viewer' }),
    },
    'serviceAccount.delete': {
      action: 'service_account.delete',
      input: async () => ({ ...(await newAccount('Deleted')), confirmName: 'Deleted' }),
    },
    'serviceAccount.createToken': {
      action: 'token.create',
      input: async () => ({ ...(await newAccount('Holder')), name: 'Nightly', permissions: ['app.read'] }),
    },
    'serviceAccount.revokeToken': {
      action: 'token.revoke',
      input: async () => {
        const account = await newAccount('Loser');
        const token = { ...account, name: 'Lost', permissions: ['app.read' as const] };
        return { tokenId: (await caller().serviceAccount.createToken(token)).id };
      },
    },
    'token.create': { action: 'token.create', input: async () => ({ name: 'Laptop', permissions: ['app.read'] }) },
    'token.revoke': {
      action: 'token.revoke',
      input: async () => ({ tokenId: (await caller().token.create({ name: 'Old', permissions: ['app.read'] })).id }),
    },
    'member.revokeToken': {
      action: 'token.revoke',
      input: async () => ({ tokenId: (await caller().token.create({ name: 'Leaked', permissions: ['app.read'] })).id }),
    },
    'server.enrol': { action: 'server.enrol', input: async () => ({ name: 'berlin' }) },
    'server.updateProxy': {
      action: 'server.update_proxy',
      input: async () => ({ serverId: stage.api.world.serverId, proxy: { http3: false } }),
    },
    'server.upgrade': {
      action: 'server.upgrade',
      input: async () => {
        const { serverId } = stage.api.world;
        await stage.api.world.system(({ tx, clock }) =>
          tx.server.update({
            where: { id: serverId },
            data: {
              connectedGateway: 'here#1',
              lastSeenAt: clock.now(),
              capabilities: ['upgrade'],
              hostInfo: { arch: 'x86_64' },
            },
          }),
        );
        return { serverId };
      },
      after: async () => {
        const hex = testAgent.digest.slice('sha256:'.length);
        const { organizationId } = stage.api.world;
        expect(await stage.api.parts.artifacts.size({ organizationId, hex })).toBe(testAgent.sizeBytes);
        expect(
          await stage.api.world.system(({ tx }) => tx.artifact.count({ where: { digest: testAgent.digest } })),
        ).toBe(1);
      },
    },
    'server.delete': {
      action: 'server.delete',
      input: async () => {
        const serverId = newId('srv');
        const { organizationId } = stage.api.world;
        await stage.api.world.system(({ tx }) =>
          tx.server.create({ data: { id: serverId, organizationId, name: 'gone', publicKey: new Uint8Array(32) } }),
        );
        return { serverId, confirmName: 'gone' };
      },
    },
    'setup.claim': {
      action: 'setup.claim',
      asStranger: true,
      input: async () => {
        await stage.api.world.system(({ tx }) => tx.member.deleteMany());
        const token = await stage.api.setupToken();
        return { token, name: 'Claimer', email: 'claimer@example.test', password: 'correct horse battery' };
      },
    },
  };
}
