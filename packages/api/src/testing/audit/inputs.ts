// Creates the rows that calls of mutations need: apps, members, secrets and the rest, each new.
import { type AppId, newId } from '@fairlead/contract/ids';
import { processPullRequest } from '@fairlead/core/preview';
import { githubPullRequest, githubPush, linkRepository, registerGithubApp } from '@fairlead/core/push/testing';
import { makeChain } from '@fairlead/core/testing';
import { expect } from 'vitest';
import { type TestApi, testAgent } from '../test-api.ts';

interface Person {
  readonly cookie: string;
  readonly userId: string;
}

/** Stage of the calls; inputs share here the rows that they create for later calls. */
export interface AuditStage {
  readonly api: TestApi;
  readonly owner: Person;
  other: Person;
  elsewhere: { readonly id: string; readonly slug: string };
  /** Counter for unique names. */
  made: number;
}

export function auditInputs(stage: AuditStage) {
  const caller = () => stage.api.caller(stage.owner.cookie);
  const newApp = (changes: object = {}) => stage.api.world.createApp(`App ${++stage.made}`, changes);
  async function liveApp() {
    const made = await newApp({ host: `app${stage.made}.example.test`, deployNow: true });
    const deploymentId = made.deploymentId ?? '';
    await stage.api.world.advance(deploymentId);
    await stage.api.world.finish(deploymentId);
    return { ...made, deploymentId };
  }

  async function newDeletedApp() {
    const { appId } = await newApp();
    const confirmName = `App ${stage.made}`;
    await caller().app.delete({ appId, confirmName });
    return { appId, confirmName };
  }

  /** Input that adds the app to a new environment. */
  const newEnvironmentOf = (appId: AppId) => ({
    appId,
    environment: { kind: 'new' as const, name: `Staging ${++stage.made}` },
    serverIds: [stage.api.world.serverId],
    firstDeploy: 'none' as const,
  });

  async function newPlace(appId: AppId) {
    // The older placement is the primary one.
    stage.api.world.clock.forward(1);
    const { environmentId } = await caller().app.addEnvironment(newEnvironmentOf(appId));
    return { appId, environmentId };
  }

  async function newServer() {
    const id = newId('srv');
    const { organizationId } = stage.api.world;
    await stage.api.world.system(({ tx }) =>
      tx.server.create({ data: { id, organizationId, name: `server-${++stage.made}`, publicKey: new Uint8Array(32) } }),
    );
    return id;
  }
  /** Connects an agent that can be upgraded to the offered one. */
  async function connectOldAgent(): Promise<void> {
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
  }

  /** Expects the offered agent in the store of the organization. */
  async function requireStoredAgent(): Promise<void> {
    const { digest, sizeBytes } = testAgent;
    const { organizationId } = stage.api.world;
    const hex = digest.slice('sha256:'.length);
    expect(await stage.api.parts.artifacts.size({ organizationId, hex })).toBe(sizeBytes);
    expect(await stage.api.world.system(({ tx }) => tx.artifact.count({ where: { digest } }))).toBe(1);
  }

  async function newStoppedRollout() {
    const rolloutId = newId('aro');
    const { organizationId } = stage.api.world;
    const data = { id: rolloutId, organizationId, offers: [testAgent], state: 'stopped' };
    await stage.api.world.system(async ({ tx }) => {
      await tx.agentRollout.updateMany({ where: { state: 'running' }, data: { state: 'cancelled' } });
      await tx.agentRollout.create({ data });
    });
    return { rolloutId };
  }

  /** A push that was processed while no app was built from its repository. */
  async function newPush(appId: AppId) {
    const deliveryId = newId('dlv');
    const { organizationId } = stage.api.world;
    await stage.api.world.system(({ tx, clock }) =>
      tx.webhookDelivery.create({
        data: {
          id: deliveryId,
          organizationId,
          source: 'github',
          endpointId: newId('gha'),
          deliveryKey: deliveryId,
          event: 'push',
          body: githubPush(),
          state: 'ignored',
          nextAttemptAt: clock.now(),
          receivedAt: clock.now(),
        },
      }),
    );
    return { deliveryId, appId };
  }

  /** An app that is linked to a repository of a GitHub App. */
  async function newLinkedApp() {
    const { world } = stage.api;
    const { appId } = await newApp({ deployNow: false });
    await linkRepository(world, await registerGithubApp(world, 'secret'), appId);
    return appId;
  }

  /** A commit of a fork that waits for its approval. */
  async function newForkPreview() {
    const { world } = stage.api;
    const appId = await newLinkedApp();
    await caller().preview.updatePolicy({ appId, enabled: true });
    const body = githubPullRequest({ fork: true });
    await world.tenant(async (ctx) => {
      const { githubAppId: endpointId } = (
        await ctx.tx.appRepository.findFirstOrThrow({ where: { appId }, select: { installation: true } })
      ).installation;
      const { deliveryId } = await newPush(appId);
      await processPullRequest(ctx, { deliveryId, endpointId, body, changesAny: () => true });
    });
    const [preview] = (await caller().preview.list({ appId })).items;
    if (preview === undefined) throw new Error('a preview was expected');
    return { previewId: preview.id, commitHash: preview.headHash };
  }

  async function newWebhook() {
    const { appId } = await newApp();
    const { id } = await caller().webhook.create({ appId, name: 'Forge', kind: 'signature' });
    return { appId, webhookId: id };
  }

  /** A certificate to upload, for the domain of a new app. */
  async function newUpload(host: string) {
    const { appId } = await newApp();
    await caller().domain.attach({ appId, host });
    const { leafPem, intermediatePem, rootPem, keyPem } = makeChain({ names: [host] });
    return { chainPem: [leafPem, intermediatePem, rootPem].join('\n'), keyPem };
  }
  const dnsProvider = () => ({
    zones: [`zone-${++stage.made}.example.test`],
    credentials: { kind: 'cloudflare' as const, token: 'a-token' },
  });
  const madeDnsProvider = async () => (await caller().dnsProvider.create(dnsProvider())).id;

  async function newVolume() {
    const id = newId('vol');
    const { organizationId } = stage.api.world;
    const { appId } = await newApp();
    const placement = { appId, environmentId: await environmentId() };
    await stage.api.world.system(({ tx }) =>
      tx.volume.create({ data: { id, organizationId, ...placement, name: 'data', label: 'Shop · Production' } }),
    );
    return { volumeId: id, confirmName: 'data' };
  }

  /** Connects an agent that packs volumes. */
  async function connectSnapshotAgent(): Promise<void> {
    const { serverId } = stage.api.world;
    const capabilities = ['volume', 'volume.snapshot'];
    await stage.api.world.system(({ tx, clock }) =>
      tx.server.update({
        where: { id: serverId },
        data: { connectedGateway: 'here#1', lastSeenAt: clock.now(), capabilities },
      }),
    );
  }

  /** Creates the move of an app from a drained server to another one. */
  async function newVolumeMove(state: 'copying' | 'failed') {
    const { organizationId } = stage.api.world;
    const [sourceServerId, targetServerId, moveId] = [await newServer(), await newServer(), newId('vmv')];
    const { appId } = await newApp({ deployNow: false });
    const move = { id: moveId, organizationId, appId, environmentId: await environmentId(), state };
    await stage.api.world.system(async ({ tx, clock }) => {
      await tx.placementServer.updateMany({ where: { placement: { appId } }, data: { serverId: sourceServerId } });
      await tx.server.update({ where: { id: sourceServerId }, data: { drainedAt: clock.now() } });
      await tx.server.updateMany({ data: { capabilities: ['volume.snapshot'] } });
      await tx.volumeMove.create({ data: { ...move, sourceServerId, targetServerId, isFromSnapshots: false } });
    });
    return { moveId };
  }

  const environmentId = async () => {
    const [environment] = (await caller().environment.list()).items;
    if (environment === undefined) throw new Error('an environment was expected');
    return environment.id;
  };
  const newProject = () => caller().project.create({ name: `Project ${++stage.made}` });
  async function newMove() {
    const { appId } = await newApp({ deployNow: false });
    const { projectId } = await newProject();
    const projects = (await caller().project.list()).items;
    const to = projects.find(({ id }) => id === projectId)?.environments[0]?.id;
    return { appId, projectId, environments: [{ from: await environmentId(), to }] };
  }
  const setProtected = async (isProtected: boolean) =>
    caller().environment.update({ environmentId: await environmentId(), protected: isProtected });
  /** Creates a deployment that a member requests and the owner approves. */
  async function awaitingDeployment() {
    await setProtected(true);
    const { deploymentId } = await newApp({ deployNow: true });
    await setProtected(false);
    return { deploymentId };
  }
  const newRole = () => caller().role.create({ name: `Role ${++stage.made}`, permissions: ['app.read'] });
  const newAccount = (name: string) => caller().serviceAccount.create({ name, role: 'deployer' });
  async function newMember() {
    stage.other = await stage.api.signUp(`Helper${++stage.made}`, 'viewer');
    const member = (await caller().member.list()).items.find(({ userId }) => userId === stage.other.userId);
    if (member === undefined) throw new Error('a member was expected');
    return { memberId: member.id };
  }
  const newGrant = async () => ({
    ...(await newMember()),
    role: 'developer' as const,
    scope: { kind: 'organization' as const },
  });
  const newInvitation = () => caller().invitation.create({ role: 'viewer' });
  async function newInvitationToken() {
    const { url } = await newInvitation();
    return { token: url?.split('#token=')[1] };
  }
  /** An app with one secret that may be shown. */
  async function newSecret() {
    const { appId } = await newApp();
    await caller().secret.update({ owner: { appId }, items: [{ name: 'OPEN', value: 'hunter2', sealed: false }] });
    const [secret] = (await caller().secret.list({ appId })).secrets;
    if (secret === undefined) throw new Error('a secret was expected');
    return { secretId: secret.id };
  }
  const newGroup = () => caller().secret.createGroup({ name: `group-${++stage.made}` });
  const newAttachment = async () => ({ ...(await newGroup()), appId: (await newApp()).appId });
  /** The world's own has the local server, so it cannot be deleted. */
  async function newOrganization() {
    stage.elsewhere = await caller().organization.create({ name: `Organization ${++stage.made}` });
    return { confirmName: `Organization ${stage.made}` };
  }
  const setOwner = () =>
    stage.api.world.system(({ tx }) =>
      tx.member.updateMany({ where: { userId: stage.owner.userId }, data: { role: 'owner' } }),
    );

  return {
    caller,
    newApp,
    newDeletedApp,
    liveApp,
    newEnvironmentOf,
    newPlace,
    newServer,
    newVolume,
    newPush,
    newForkPreview,
    newLinkedApp,
    newWebhook,
    dnsProvider,
    madeDnsProvider,
    newVolumeMove,
    connectSnapshotAgent,
    environmentId,
    newProject,
    newMove,
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
    connectOldAgent,
    requireStoredAgent,
    newStoppedRollout,
    newUpload,
  };
}
