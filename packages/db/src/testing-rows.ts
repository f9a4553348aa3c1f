// A small, whole organization for tests: one row of each tenant table, all belonging together. Tests only.
import { newId } from '@fairlead/contract/ids';
import type { Database } from './database.ts';
import type { SystemTx } from './scope.ts';

/** Certificate of `CN=test` that signs itself, in DER. */
const testCertificate =
  'MIIBdTCCARugAwIBAgIUYLWHfXL9qHHsJS3mTh5NPkO9yHYwCgYIKoZIzj0EAwIwDzENMAsGA1UEAwwEdGVzdDAgFw0yNjExMjYx' +
  'MzU0MDlaGA8yMTI2MTEwMjEzNTQwOVowDzENMAsGA1UEAwwEdGVzdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABHdxZPXAAVnu' +
  'P5bMF4XXXBZ0VwT8PkOje40BPeZbGVAB84i9XXTTgfhGm33Hd2ZagxD1apRkCPIGxAoc6DP7LJ+jUzBRMB0GA1UdDgQWBBShw2pI' +
  'jqaVNbmiPOtFAuPZoVp9FjAfBgNVHSMEGDAWgBShw2pIjqaVNbmiPOtFAuPZoVp9FjAPBgNVHRMBAf8EBTADAQH/MAoGCCqGSM49' +
  'BAMCA0gAMEUCIGU9PBg/OdKT7jZNj2rXkHTXNBAfSPEZU4c5nBxDqo9GAiEAlNBXuc3nTBpzbB5PwBZjlCVtxZCIPh/g5Fr+rOrk' +
  'SZk=';

export interface OrganizationRows {
  readonly organizationId: string;
  readonly userId: string;
  readonly projectId: string;
  readonly environmentId: string;
  readonly serverId: string;
  readonly appId: string;
  readonly placementId: string;
  readonly releaseId: string;
  readonly deploymentId: string;
  readonly runId: string;
  readonly planId: string;
  readonly memberId: string;
  readonly roleId: string;
  readonly grantId: string;
}

/** Inserts an organization with a member, a server, and an app that was deployed once. `slug` must be new. */
export async function insertOrganizationRows(database: Database, slug: string): Promise<OrganizationRows> {
  const organizationId = newId('org');
  const [userId, projectId, environmentId, serverId] = [newId('usr'), newId('prj'), newId('env'), newId('srv')];
  const [appId, placementId, releaseId, deploymentId] = [newId('app'), newId('plc'), newId('rel'), newId('dep')];
  const runId = newId('run');
  const planId = newId('bpl');
  const [memberId, roleId, grantId] = [newId('mem'), newId('rol'), newId('grt')];
  const now = new Date();
  await database.system('test rows', async (tx) => {
    await tx.organization.create({ data: { id: organizationId, name: slug, slug } });
    await tx.user.create({ data: { id: userId, name: `Owner of ${slug}`, email: `owner@${slug}.example.test` } });
    await tx.member.create({ data: { id: memberId, organizationId, userId, role: 'owner' } });
    await tx.project.create({ data: { id: projectId, organizationId, name: 'Default', slug: 'default' } });
    await tx.environment.create({
      data: { id: environmentId, organizationId, projectId, name: 'Production', slug: 'production' },
    });
    await tx.server.create({
      data: {
        id: serverId,
        organizationId,
        name: 'local',
        publicKey: new Uint8Array(32),
        capabilities: ['app', 'build', 'build.plan'],
      },
    });
    await tx.serverEnrolment.create({
      data: { id: newId('enr'), organizationId, name: 'next', tokenHash: newId('enr'), expiresAt: now },
    });
    await tx.agentRollout.create({
      data: {
        id: newId('aro'),
        organizationId,
        offers: [],
        state: 'cancelled',
        createdAt: now,
        finishedAt: now,
        servers: { create: { serverId, wave: 1, attempt: 1 } },
      },
    });
    await tx.app.create({
      data: {
        id: appId,
        organizationId,
        projectId,
        name: 'Hello',
        slug: 'hello',
        repositoryUrl: 'https://git.example.test/hello.git',
        command: [],
      },
    });
    await tx.release.create({
      data: {
        id: releaseId,
        organizationId,
        appId,
        environmentId,
        number: 1,
        commitHash: '0123456789abcdef0123456789abcdef01234567',
        commitSubject: 'Say hello',
        commitAuthor: 'Ada',
        committedAt: now,
        artifactDigest: 'sha256:00',
        artifactSizeBytes: 1024n,
        builtOnServerId: serverId,
        runtime: 'node',
        command: ['node', 'server.js'],
        healthPath: '/',
      },
    });
    await tx.placement.create({
      data: {
        id: placementId,
        organizationId,
        appId,
        environmentId,
        branch: 'main',
        isPrimary: true,
        servers: { create: { serverId, position: 0, liveReleaseId: releaseId } },
      },
    });
    await tx.deployment.create({
      data: {
        id: deploymentId,
        organizationId,
        appId,
        environmentId,
        number: 1,
        trigger: 'manual',
        state: 'live',
        ref: 'main',
        releaseId,
        actorUserId: userId,
        requestedByUserId: userId,
      },
    });
    await tx.appConfig.create({
      data: { id: newId('cfg'), organizationId, appId, environmentId, number: 1, settings: {} },
    });
    await tx.deploymentServer.create({
      data: { organizationId, deploymentId, serverId, position: 0, state: 'live' },
    });
    await tx.artifact.create({
      data: { id: newId('art'), organizationId, digest: `sha256:${'0'.repeat(64)}`, kind: 'build', sizeBytes: 1024n },
    });
    const volumeId = newId('vol');
    await tx.volume.create({
      data: { id: volumeId, organizationId, appId, environmentId, name: 'data', label: 'Hello · Production' },
    });
    const moveId = newId('vmv');
    const move = { organizationId, appId, environmentId, sourceServerId: serverId, targetServerId: serverId };
    await tx.volumeMove.create({ data: { ...move, id: moveId, state: 'cancelled', isFromSnapshots: false } });
    const packedId = newId('vtk');
    const packed = { organizationId, volumeId, appId, environmentId, serverId };
    await tx.volumeSnapshot.create({ data: { ...packed, id: packedId, reason: 'manual', state: 'failed' } });
    await tx.volumeRestore.create({
      data: { id: newId('vtk'), organizationId, moveId, volumeId, snapshotId: packedId, serverId, state: 'failed' },
    });
    await tx.deploymentStep.create({
      data: { id: newId('stp'), organizationId, deploymentId, name: 'clone', position: 0, state: 'done' },
    });
    await tx.logChunk.create({
      data: {
        id: newId('lgc'),
        organizationId,
        deploymentId,
        firstLine: 0,
        lineCount: 1,
        objectKey: `${deploymentId}/0`,
        sizeBytes: 10,
      },
    });
    await tx.instance.create({
      data: {
        id: newId('ins'),
        organizationId,
        appId,
        environmentId,
        serverId,
        releaseId,
        state: 'healthy',
        reportedAt: now,
      },
    });
    await tx.domain.create({
      data: { id: newId('dom'), organizationId, appId, environmentId, host: `hello.${slug}.example.test` },
    });
    await tx.domainHost.create({ data: { organizationId, host: `hello.${slug}.example.test` } });
    await tx.hostProof.create({
      data: { id: newId('prf'), organizationId, host: `hello.${slug}.example.test`, token: 'none' },
    });
    await tx.dashboardDomain.create({ data: { id: newId('dsd'), organizationId, host: `panel.${slug}.example.test` } });
    await tx.removedDashboardDomain.create({
      data: { organizationId, host: `old.${slug}.example.test`, removedAt: now },
    });
    await tx.benchmarkRun.create({
      data: {
        id: runId,
        organizationId,
        appId,
        environmentId,
        serverId,
        state: 'succeeded',
        plan: { host: 'hello.example.test' },
        tags: ['first'],
      },
    });
    await tx.benchmarkRunServer.create({
      data: { organizationId, runId, serverId, name: 'one', role: 'measure', position: 0 },
    });
    await tx.benchmarkRow.create({
      data: {
        id: newId('row'),
        organizationId,
        runId,
        position: 0,
        round: 0,
        target: 'proxy',
        protocol: 'http1',
        concurrency: 8,
        durationMs: 1000,
        requests: 1000n,
        errors: 0n,
        latency: new Uint8Array(),
        proxyCpuUs: 1n,
        proxyMemoryBytes: 1n,
        bytesReceived: 1n,
      },
    });
    await tx.benchmarkReport.create({
      data: { id: newId('rpt'), organizationId, runId, appId, document: {}, isIndexed: false, publishedAt: now },
    });
    await tx.benchmarkPlan.create({
      data: { id: planId, organizationId, appId, environmentId, name: 'Nightly', plan: {} },
    });
    await tx.benchmarkSchedule.create({
      data: { planId, organizationId, hour: 3, timeZone: 'UTC', nextAt: now },
    });
    await tx.invitation.create({
      data: {
        id: newId('inv'),
        organizationId,
        tokenHash: newId('inv'),
        email: `next@${slug}.example.test`,
        role: 'viewer',
        invitedByUserId: userId,
        expiresAt: now,
        renewedAt: now,
      },
    });
    const serviceAccountId = newId('sva');
    await tx.serviceAccount.create({ data: { id: serviceAccountId, organizationId, name: 'CI', role: 'deployer' } });
    await tx.apiToken.create({
      data: {
        id: newId('tok'),
        organizationId,
        name: 'CI',
        hash: `hash of ${organizationId}`,
        hint: 'abcd',
        serviceAccountId,
        expiresAt: now,
      },
    });
    await tx.customRole.create({
      data: { id: roleId, organizationId, name: `Auditor of ${slug}`, permissions: ['app.read'] },
    });
    await tx.roleGrant.create({ data: { id: grantId, organizationId, memberId, role: roleId, environmentId } });
    await tx.deploymentApproval.create({
      data: { id: newId('apv'), organizationId, deploymentId, state: 'pending', requestedByUserId: userId },
    });
    await tx.acknowledgement.create({
      data: { organizationId, memberId, kind: 'checklist', subject: '', version: '' },
    });
    const [dataKeyId, groupId, secretId, versionId] = [newId('dek'), newId('scg'), newId('sec'), newId('scv')];
    const snapshotId = newId('scs');
    await tx.dataKey.create({
      data: { id: dataKeyId, organizationId, wrapped: new Uint8Array(), masterKeyId: 'none' },
    });
    await tx.sourceCredential.create({
      data: {
        id: newId('crd'),
        organizationId,
        appId,
        kind: 'https',
        host: 'git.example.test',
        dataKeyId,
        envelope: new Uint8Array(),
      },
    });
    const [certificateKeyId, accountId] = [newId('cky'), newId('aca')];
    await tx.certificateKey.create({
      data: {
        id: certificateKeyId,
        organizationId,
        dataKeyId,
        envelope: new Uint8Array(),
        publicKey: new Uint8Array(),
      },
    });
    await tx.acmeAccount.create({
      data: {
        id: accountId,
        organizationId,
        directoryUrl: 'https://authority.example.test/directory',
        keyId: certificateKeyId,
        thumbprint: 'none',
      },
    });
    await tx.hostPolicy.create({ data: { organizationId, host: `hello.${slug}.example.test` } });
    const uploadKeyId = newId('cky');
    await tx.certificateKey.create({
      data: { id: uploadKeyId, organizationId, dataKeyId, envelope: new Uint8Array(), publicKey: new Uint8Array() },
    });
    const certificateId = newId('crt');
    await tx.certificate.create({
      data: { id: certificateId, organizationId, host: `hello.${slug}.example.test`, accountId },
    });
    await tx.uploadedCertificate.create({
      data: {
        id: newId('ucr'),
        organizationId,
        names: [`hello.${slug}.example.test`],
        chain: [Uint8Array.from(Buffer.from(testCertificate, 'base64'))],
        keyId: uploadKeyId,
        issuer: 'Test',
        notBefore: now,
        notAfter: now,
      },
    });
    await tx.certificateEvent.create({ data: { id: newId('cev'), organizationId, certificateId, kind: 'ordered' } });
    const providerId = newId('dnp');
    await tx.dnsProvider.create({
      data: {
        id: providerId,
        organizationId,
        kind: 'cloudflare',
        zones: [`${slug}.example.test`],
        dataKeyId,
        envelope: new Uint8Array(),
      },
    });
    await tx.dnsRecord.create({
      data: {
        id: newId('dnr'),
        organizationId,
        providerId,
        certificateId: newId('crt'),
        attempt: 1,
        zone: `${slug}.example.test`,
        name: `_acme-challenge.${slug}.example.test`,
        value: 'none',
        state: 'ready',
        nextAt: now,
      },
    });
    await tx.acmeOrder.create({
      data: {
        id: newId('aco'),
        organizationId,
        directoryUrl: 'https://authority.example.test/directory',
        host: `hello.${slug}.example.test`,
        registeredDomain: 'example.test',
        renewal: false,
        orderedAt: now,
      },
    });
    const [githubAppId, installationId] = [newId('gha'), newId('ghi')];
    await tx.githubApp.create({
      data: {
        id: githubAppId,
        organizationId,
        baseUrl: `https://git.${slug}.example.test`,
        githubId: 1,
        slug,
        name: slug,
        ownerLogin: slug,
        clientId: 'none',
        dataKeyId,
        privateKey: new Uint8Array(),
        webhookSecret: new Uint8Array(),
        clientSecret: new Uint8Array(),
      },
    });
    await tx.githubInstallation.create({
      data: {
        id: installationId,
        organizationId,
        githubAppId,
        installationId: 1,
        accountId: 1,
        accountLogin: slug,
        accountType: 'Organization',
        repositorySelection: 'all',
      },
    });
    await tx.githubRepository.create({
      data: {
        installationId,
        organizationId,
        repositoryId: 1,
        fullName: `${slug}/hello`,
        defaultBranch: 'main',
        isPrivate: true,
        isArchived: false,
      },
    });
    await tx.appRepository.create({
      data: {
        appId,
        organizationId,
        installationId,
        repositoryId: 1,
        fullName: `${slug}/hello`,
        defaultBranch: 'main',
        isPrivate: true,
      },
    });
    const deliveryId = newId('dlv');
    await tx.webhookDelivery.create({
      data: {
        id: deliveryId,
        organizationId,
        source: 'github',
        endpointId: githubAppId,
        deliveryKey: 'first',
        event: 'push',
        body: '{}',
        nextAttemptAt: now,
        receivedAt: now,
      },
    });
    await tx.checkRequest.create({ data: { organizationId, githubAppId, bodyHash: 'none' } });
    await tx.pushDecision.create({
      data: {
        id: newId('pdc'),
        organizationId,
        deliveryId,
        appId,
        environmentId,
        ref: 'refs/heads/main',
        outcome: 'skipped',
        reason: 'paused',
        detail: '',
        decidedAt: now,
      },
    });
    await tx.appWebhook.create({
      data: {
        id: newId('whk'),
        organizationId,
        appId,
        name: 'Forge',
        kind: 'token',
        hash: 'none',
        hint: 'abcd',
        createdAt: now,
      },
    });
    await tx.githubReport.create({ data: { deploymentId, organizationId } });
    await insertPreview(tx, { organizationId, appId, environmentId, deliveryId });
    await tx.deploymentCheckWait.create({
      data: {
        deploymentId,
        organizationId,
        commitHash: 'a'.repeat(40),
        names: [],
        pending: [],
        deadlineAt: new Date(),
      },
    });
    await tx.githubState.create({
      data: {
        stateHash: `state of ${organizationId}`,
        organizationId,
        userId,
        purpose: 'install',
        baseUrl: `https://git.${slug}.example.test`,
        githubAppId,
        expiresAt: now,
      },
    });
    await tx.secretGroup.create({ data: { id: groupId, organizationId, projectId, name: 'shared' } });
    await tx.secretGroupApp.create({ data: { organizationId, groupId, appId } });
    // Deleted, so that the app deploys to a server that can open no secrets.
    await tx.secret.create({
      data: { id: secretId, organizationId, groupId, name: 'API_KEY', number: 1, deletedAt: now },
    });
    await tx.secretVersion.create({
      data: {
        id: versionId,
        organizationId,
        secretId,
        number: 1,
        dataKeyId,
        envelope: new Uint8Array(),
        sizeBytes: 0,
        references: [],
        delivery: 'environment',
        sealed: true,
      },
    });
    await tx.secretSnapshot.create({ data: { id: snapshotId, organizationId, appId, environmentId, digest: '' } });
    await tx.secretSnapshotEntry.create({
      data: { organizationId, snapshotId, versionId, scope: 'shared', name: 'API_KEY', exported: true },
    });
    const deletedAppId = newId('app');
    await tx.app.create({
      data: {
        id: deletedAppId,
        organizationId,
        projectId,
        name: 'Gone',
        slug: 'gone',
        repositoryUrl: '',
        command: [],
        deletion: { create: { deletedAt: now, purgeAt: now } },
      },
    });
    await tx.auditEvent.create({
      data: {
        id: newId('aud'),
        organizationId,
        at: now,
        actorKind: 'member',
        actorId: userId,
        actorUserId: userId,
        action: 'app.create',
        targetKind: 'app',
        targetId: appId,
        targetLabel: 'Hello',
      },
    });
  });
  return {
    organizationId,
    userId,
    projectId,
    environmentId,
    serverId,
    appId,
    placementId,
    releaseId,
    deploymentId,
    runId,
    planId,
    memberId,
    roleId,
    grantId,
  };
}

async function insertPreview(
  tx: SystemTx,
  ids: Readonly<Record<'organizationId' | 'appId' | 'environmentId' | 'deliveryId', string>>,
): Promise<void> {
  const { organizationId, appId, environmentId, deliveryId } = ids;
  const now = new Date();
  const previewId = newId('prv');
  const policy = { enabled: true, previewsMax: 1, daysMax: 1, drafts: true, updatedAt: now };
  await tx.previewPolicy.create({ data: { appId, organizationId, environmentId, ...policy } });
  await tx.preview.create({
    data: {
      id: previewId,
      organizationId,
      appId,
      repositoryId: 1,
      number: 1,
      title: 'Sell shoes',
      author: 'ada',
      headRef: 'shoes',
      headHash: 'a'.repeat(40),
      isFork: false,
      isDraft: false,
      isOpen: true,
      state: 'limited',
      changedAt: now,
      pushedAt: now,
      createdAt: now,
    },
  });
  await tx.githubComment.create({ data: { previewId, organizationId } });
  const decided = { number: 1, outcome: 'limited', detail: '', decidedAt: now };
  await tx.previewDecision.create({ data: { id: newId('pvd'), organizationId, appId, deliveryId, ...decided } });
}
