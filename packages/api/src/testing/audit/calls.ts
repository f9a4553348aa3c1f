// One call of each mutation, with a valid input. A new mutation without an entry here does not compile.

import { newId, parseId } from '@fairlead/contract/ids';
import { planOrders } from '@fairlead/core/certificate';
import { mintToken } from '@fairlead/core/kernel';
import type { AppRouter } from '../../index.ts';
import type { AuditCall } from './audit-call.ts';
import { benchmarkCalls } from './benchmark-calls.ts';
import { githubCalls } from './github-calls.ts';
import { type AuditStage, auditInputs } from './inputs.ts';
import { peopleCalls } from './people-calls.ts';

// A person's own account belongs to no organization and so to no audit log: what happens to it is written to account_event,
// which packages/auth's tests hold.
type Features = Omit<AppRouter['_def']['record'], 'account'>;
type MutationsOf<Feature extends keyof Features> = {
  [Verb in keyof Features[Feature] & string]: Features[Feature][Verb] extends { _def: { type: 'mutation' } }
    ? `${Feature}.${Verb}`
    : never;
}[keyof Features[Feature] & string];
type Mutation = { [Feature in keyof Features]: MutationsOf<Feature> }[keyof Features];

/** Lets another organization, which is made for it, offer a name; returns the code of the transfer. */
async function offerHost({ system, clock }: AuditStage['api']['world'], host: string): Promise<string> {
  const { token: code, hash: transferHash } = mintToken('fl_host');
  const now = clock.now();
  const transferExpiresAt = new Date(now.getTime() + 60_000);
  await system(async ({ tx }) => {
    const organizationId = newId('org');
    await tx.organization.create({ data: { id: organizationId, name: 'Giver', slug: 'giver' } });
    const offered = { host, token: '', provenAt: now, transferHash, transferExpiresAt };
    await tx.hostProof.create({ data: { id: newId('prf'), organizationId, ...offered } });
  });
  return code;
}

export function auditCalls(stage: AuditStage): Readonly<Record<Mutation, AuditCall>> {
  const {
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
    newSecret,
    newGroup,
    newAttachment,
    connectOldAgent,
    requireStoredAgent,
    newStoppedRollout,
    newUpload,
  } = auditInputs(stage);
  /** Attaches a host to a new app and proves it. */
  const newProvenDomain = async (host: string) => {
    const { appId } = await newApp();
    const { id: domainId } = await caller().domain.attach({ appId, host });
    await stage.api.world.system(({ tx, clock }) =>
      tx.hostProof.updateMany({ where: { host }, data: { provenAt: clock.now() } }),
    );
    return { domainId };
  };
  return {
    ...peopleCalls(stage),
    ...githubCalls(stage),
    ...benchmarkCalls(stage),
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
    'app.restore': { action: 'app.restore', input: async () => ({ appId: (await newDeletedApp()).appId }) },
    'app.purge': { action: 'app.purge', input: () => newDeletedApp() },
    'app.addEnvironment': {
      action: 'app.add_environment',
      input: async () => newEnvironmentOf((await newApp()).appId),
    },
    'app.attachServer': {
      action: 'app.attach_server',
      input: async () => ({ appId: (await newApp()).appId, serverId: await newServer() }),
    },
    'app.moveServer': {
      action: 'app.move_server',
      input: async () => {
        const { appId } = await newApp();
        return caller().app.attachServer({ appId, serverId: await newServer() });
      },
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
    'app.move': { action: 'app.move', input: () => newMove() },
    'config.update': {
      action: 'config.update',
      input: async () => ({ appId: (await newApp()).appId, settings: { releasesKept: 7 } }),
    },
    'config.restore': {
      action: 'config.update',
      input: async () => {
        const { appId } = await newApp();
        await caller().config.update({ appId, settings: { releasesKept: 7 } });
        await caller().config.update({ appId, settings: { releasesKept: 8 } });
        return { appId, number: 1 };
      },
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
    'preview.updatePolicy': {
      action: 'preview.update_policy',
      input: async () => ({ appId: await newLinkedApp(), enabled: true }),
    },
    'preview.approve': { action: 'preview.approve', input: () => newForkPreview() },
    'preview.remove': {
      action: 'preview.remove',
      input: async () => ({ previewId: (await newForkPreview()).previewId }),
    },
    'push.retry': { action: 'push.retry', input: async () => newPush((await newApp()).appId) },
    'push.updateRules': {
      action: 'push.update_rules',
      input: async () => ({ appId: (await newApp()).appId, watchPaths: ['apps/web/**'] }),
    },
    'webhook.create': {
      action: 'webhook.create',
      input: async () => ({ appId: (await newApp()).appId, name: 'Forge', kind: 'token' }),
    },
    'webhook.rotate': { action: 'webhook.rotate', input: () => newWebhook() },
    'webhook.delete': { action: 'webhook.delete', input: () => newWebhook() },
    'dnsProvider.create': { action: 'dns_provider.create', input: async () => dnsProvider() },
    'dnsProvider.update': {
      action: 'dns_provider.update',
      input: async () => ({ dnsProviderId: await madeDnsProvider(), preferred: true }),
    },
    'dnsProvider.verify': {
      action: 'dns_provider.verify',
      input: async () => ({ dnsProviderId: await madeDnsProvider() }),
    },
    'dnsProvider.delete': {
      action: 'dns_provider.delete',
      input: async () => ({ dnsProviderId: await madeDnsProvider() }),
    },
    'volume.createSnapshot': {
      action: 'volume.create_snapshot',
      input: async () => {
        await connectSnapshotAgent();
        return { volumeId: (await newVolume()).volumeId };
      },
    },
    'volumeMove.cancel': { action: 'volume_move.cancel', input: () => newVolumeMove('copying') },
    'volumeMove.retry': { action: 'volume_move.retry', input: () => newVolumeMove('failed') },
    'volume.delete': { action: 'volume.delete', input: async () => newVolume() },
    'volume.restore': {
      action: 'volume.restore',
      input: async () => {
        const wish = await newVolume();
        await caller().volume.delete(wish);
        return { volumeId: wish.volumeId };
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
    'certificate.add': { action: 'certificate.add', input: () => newUpload('added.example.test') },
    'certificate.update': {
      action: 'certificate.update',
      input: async () => {
        const input = await newUpload('replaced.example.test');
        const { certificateId } = await caller().certificate.add(input);
        return { ...input, certificateId };
      },
    },
    'certificate.delete': {
      action: 'certificate.delete',
      input: async () => {
        const { certificateId } = await caller().certificate.add(await newUpload('unused.example.test'));
        return { certificateId };
      },
    },
    'certificate.retry': {
      action: 'certificate.retry',
      input: async () => {
        const { appId } = await newApp();
        const { id } = await caller().domain.attach({ appId, host: 'certified.example.test' });
        await stage.api.world.tenant((ctx) =>
          planOrders(ctx, stage.api.world.keys, { directoryUrl: 'https://authority.example.test/directory' }),
        );
        return { domainId: id };
      },
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
    'domain.updateTls': {
      action: 'domain.update_tls',
      input: async () => {
        const { appId } = await newApp();
        const { id } = await caller().domain.attach({ appId, host: 'secured.example.test' });
        const { world } = stage.api;
        const policy = { hsts: { maxAgeSeconds: 3600 } };
        const { organizationId } = world;
        await world.system(({ tx }) =>
          tx.hostPolicy.create({ data: { organizationId, host: 'secured.example.test', policy } }),
        );
        return { domainId: id, hsts: null };
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
    // A person's own view belongs to no audit log.
    'overview.acknowledge': { action: null, input: async () => ({ kind: 'deployment_failed' }) },
    'overview.restore': { action: null, input: async () => ({ kind: 'deployment_failed' }) },
    'overview.closeChecklist': { action: null, input: async () => undefined },
    'project.create': { action: 'project.create', input: async () => ({ name: 'Made' }) },
    'project.update': {
      action: 'project.update',
      input: async () => ({ ...(await newProject()), name: `Renamed ${stage.made}` }),
    },
    'project.delete': {
      action: 'project.delete',
      input: async () => ({ ...(await newProject()), confirmName: `Project ${stage.made}` }),
    },
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
    'variable.update': {
      action: 'config.update',
      input: async () => ({ appId: (await newApp()).appId, plain: [{ name: 'LOG_LEVEL', value: 'debug' }] }),
    },
    'variable.copy': {
      action: 'variable.copy',
      input: async () => {
        const { appId } = await newApp();
        await caller().variable.update({ appId, plain: [{ name: 'LOG_LEVEL', value: 'debug' }] });
        return { ...(await newPlace(appId)), fromEnvironmentId: await environmentId(), plain: ['LOG_LEVEL'] };
      },
    },
    'server.enrol': { action: 'server.enrol', input: async () => ({ name: 'berlin' }) },
    'host.release': { action: 'host.release', input: () => newProvenDomain('released.example.test') },
    'host.transfer': { action: 'host.transfer', input: () => newProvenDomain('transferred.example.test') },
    'host.accept': {
      action: 'host.accept',
      input: async () => {
        const host = 'accepted.example.test';
        const { appId } = await newApp();
        const { id: domainId } = await caller().domain.attach({ appId, host });
        const code = await offerHost(stage.api.world, host);
        return { domainId, code };
      },
    },
    'host.verify': {
      action: null,
      input: async () => {
        const { appId } = await newApp();
        return { domainId: (await caller().domain.attach({ appId, host: 'verified.example.test' })).id };
      },
    },
    'domain.updateBase': {
      action: 'server.update_base_domain',
      input: async () => ({ serverId: stage.api.world.serverId, baseDomain: 'apps.example.test' }),
    },
    'server.updateAddresses': {
      action: 'server.update_addresses',
      input: async () => ({ serverId: stage.api.world.serverId, addresses: ['203.0.113.7'] }),
    },
    'server.updateProxy': {
      action: 'server.update_proxy',
      input: async () => ({ serverId: stage.api.world.serverId, proxy: { http3: false } }),
    },
    'agentRollout.start': {
      action: 'agent_rollout.start',
      input: async () => {
        await connectOldAgent();
        return undefined;
      },
      after: requireStoredAgent,
    },
    'agentRollout.retry': { action: 'agent_rollout.retry', input: () => newStoppedRollout() },
    'agentRollout.cancel': { action: 'agent_rollout.cancel', input: () => newStoppedRollout() },
    'server.upgrade': {
      action: 'server.upgrade',
      input: async () => {
        await connectOldAgent();
        return { serverId: stage.api.world.serverId };
      },
      after: requireStoredAgent,
    },
    'server.drain': { action: 'server.drain', input: async () => ({ serverId: await newServer(), drained: true }) },
    'server.moveApps': {
      action: 'server.move_apps',
      input: async () => {
        const serverId = await newServer();
        await caller().server.drain({ serverId, drained: true });
        return { serverId, targetServerId: await newServer() };
      },
    },
    'server.uninstall': {
      action: 'server.uninstall',
      input: async () => {
        const serverId = newId('srv');
        const { organizationId, clock } = stage.api.world;
        const link = { capabilities: ['uninstall'], connectedGateway: 'test-gateway', lastSeenAt: clock.now() };
        await stage.api.world.system(({ tx }) =>
          tx.server.create({
            data: { id: serverId, organizationId, name: 'leaving', publicKey: new Uint8Array(32), ...link },
          }),
        );
        return { serverId, confirmName: 'leaving', withData: false };
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
