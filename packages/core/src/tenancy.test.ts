// Tenancy of operations: one that takes an id of another organization must answer as if there were no such row.

import { parseId } from '@fairlead/contract/ids';
import { insertOrganizationRows, type OrganizationRows, type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { advanceAgentRollout, cancelAgentRollout, getAgentRollout, retryAgentRollout } from './agent-rollout/index.ts';
import {
  addEnvironment,
  addEnvironmentInputSchema,
  createApp,
  createAppInputSchema,
  deleteApp,
  getApp,
  getAppMove,
  listApps,
  listDeletedApps,
  moveApp,
  purgeDeletedApp,
  restoreApp,
  updateApp,
} from './app/index.ts';
import {
  benchmarkPlanSchema,
  cancelBenchmark,
  createBenchmark,
  deleteBenchmark,
  getBenchmark,
  importBenchmark,
  importBenchmarkInputSchema,
  listBenchmarkFilters,
  listBenchmarks,
  updateBenchmark,
} from './benchmark/index.ts';
import {
  createPlan,
  deletePlan,
  getPlan,
  listPlans,
  pauseSchedule,
  updatePlan,
  updateSchedule,
} from './benchmark-plan/index.ts';
import { deleteCertificate, getCertificateDetail } from './certificate/index.ts';
import {
  advanceDeployment,
  cancelDeployment,
  createDeployment,
  deploySecrets,
  getDeployment,
  listDeploymentFilters,
  listDeployments,
  redeploy,
  restartApp,
  rollbackApp,
} from './deployment/index.ts';
import { listDeploymentUrls } from './deployment-url/index.ts';
import { deleteDnsProvider, prepareDnsProviderTest, updateDnsProvider } from './dns-provider/index.ts';
import {
  attachDomain,
  detachDomain,
  getBaseDomain,
  getDomainTls,
  listDomains,
  updateBaseDomain,
  updateDomainTls,
} from './domain/index.ts';
import { getHost, releaseHost, transferHost, verifyHost } from './host/index.ts';
import type { Ctx } from './kernel/index.ts';
import { requireTopics } from './live/index.ts';
import { createFolderLogStore, readLog } from './log/index.ts';
import { listMembers } from './member/index.ts';
import { getAppMetric, getServerMetric } from './metric/index.ts';
import { getOverview } from './overview/index.ts';
import { drainServer, getDrain, moveServer, scaleApp } from './placement/index.ts';
import { approvePreview, removePreview, updatePreviewPolicy } from './preview/index.ts';
import { deleteProject, getProject, listProjects, updateProject } from './project/index.ts';
import {
  createWebhook,
  deleteWebhook,
  getDelivery,
  getPushRules,
  listWebhooks,
  retryPush,
  rotateWebhook,
  updatePushRules,
} from './push/index.ts';
import { listReleases } from './release/index.ts';
import { ownerRights } from './role/index.ts';
import {
  attachSecretGroup,
  createSecretGroup,
  deleteSecret,
  deleteSecretGroup,
  detachSecretGroup,
  listSecretGroups,
  listSecrets,
  listSecretVersions,
  restoreSecret,
  revealSecret,
  updateSecrets,
} from './secret/index.ts';
import {
  createEnrolment,
  deleteServer,
  getEnrolment,
  getServer,
  listServers,
  uninstallServer,
  updateAddresses,
  upgradeServer,
} from './server/index.ts';
import { importableDocument, type TestWorld, testUrl, testWorld, wholeOverview } from './testing/index.ts';
import { copyVariables, listVariables, updateVariables } from './variable/index.ts';
import { createSnapshot, listSnapshots } from './volume/index.ts';
import { cancelMove, listMoves, moveApps, retryMove } from './volume-move/index.ts';

let db: TestDatabase;
let world: TestWorld;
let foreign: OrganizationRows;
let own: { appId: string };
let foreignDeletedAppId: string;
let foreignDomainId: string;
let foreignDnsProviderId: string;
const dnsProvider = () => ({ dnsProviderId: parseId('dnp', foreignDnsProviderId) });
let foreignEnrolmentId: string;
let foreignUploadId: string;
let foreignRolloutId: string;
let foreignDeliveryId: string;
let foreignWebhookId: string;
let foreignPreviewId: string;
let foreignMoveId: string;
let foreignVolumeId: string;
let foreignSecret: { id: string; groupId: string | null };
const links = { localHttpsPort: 4443, localHttpPort: 4480, controlHost: '', publicHost: '' };

beforeAll(async () => {
  db = await testDatabase();
  world = await testWorld(db.database);
  own = await world.createApp('Shop');
  foreign = await insertOrganizationRows(db.database, 'rival');
  const rows = await world.system(async ({ tx }) => ({
    deletion: await tx.appDeletion.findFirstOrThrow({ where: { organizationId: foreign.organizationId } }),
    domain: await tx.domain.findFirstOrThrow({ where: { organizationId: foreign.organizationId } }),
    dnsProvider: await tx.dnsProvider.findFirstOrThrow({ where: { organizationId: foreign.organizationId } }),
    secret: await tx.secret.findFirstOrThrow({ where: { organizationId: foreign.organizationId } }),
    upload: await tx.uploadedCertificate.findFirstOrThrow({ where: { organizationId: foreign.organizationId } }),
    rollout: await tx.agentRollout.findFirstOrThrow({ where: { organizationId: foreign.organizationId } }),
    delivery: await tx.webhookDelivery.findFirstOrThrow({ where: { organizationId: foreign.organizationId } }),
    webhook: await tx.appWebhook.findFirstOrThrow({ where: { organizationId: foreign.organizationId } }),
    preview: await tx.preview.findFirstOrThrow({ where: { organizationId: foreign.organizationId } }),
    move: await tx.volumeMove.findFirstOrThrow({ where: { organizationId: foreign.organizationId } }),
    volume: await tx.volume.findFirstOrThrow({ where: { organizationId: foreign.organizationId } }),
    enrolment: await tx.serverEnrolment.findFirstOrThrow({ where: { organizationId: foreign.organizationId } }),
  }));
  foreignDeletedAppId = rows.deletion.appId;
  foreignDomainId = rows.domain.id;
  foreignUploadId = rows.upload.id;
  foreignDnsProviderId = rows.dnsProvider.id;
  foreignSecret = rows.secret;
  foreignEnrolmentId = rows.enrolment.id;
  foreignRolloutId = rows.rollout.id;
  foreignDeliveryId = rows.delivery.id;
  foreignWebhookId = rows.webhook.id;
  foreignPreviewId = rows.preview.id;
  foreignMoveId = rows.move.id;
  foreignVolumeId = rows.volume.id;
});
afterAll(() => db.drop());

const store = createFolderLogStore('/nonexistent');
const foreignHost = () => ({ domainId: parseId('dom', foreignDomainId) });
const app = () => parseId('app', foreign.appId);
const deletedApp = () => parseId('app', foreignDeletedAppId);
const isAllowed = () => Promise.resolve();
const server = () => parseId('srv', foreign.serverId);
const deployment = () => ({ deploymentId: parseId('dep', foreign.deploymentId) });
const release = () => parseId('rel', foreign.releaseId);
const project = () => ({ projectId: parseId('prj', foreign.projectId) });
const rollout = () => ({ rolloutId: parseId('aro', foreignRolloutId) });
const delivery = () => ({ deliveryId: parseId('dlv', foreignDeliveryId) });
const preview = () => ({ previewId: parseId('prv', foreignPreviewId) });
const webhook = () => parseId('whk', foreignWebhookId);
const volume = () => ({ volumeId: parseId('vol', foreignVolumeId) });
const volumeMove = () => ({ moveId: parseId('vmv', foreignMoveId) });
const run = () => ({ runId: parseId('run', foreign.runId) });
const plan = () => ({ planId: parseId('bpl', foreign.planId) });

const secret = () => ({ secretId: parseId('sec', foreignSecret.id) });
const group = () => ({ groupId: parseId('scg', foreignSecret.groupId ?? '') });

const copyOf = (appId: ReturnType<typeof app>) => {
  const environmentId = parseId('env', foreign.environmentId);
  return { appId, fromEnvironmentId: environmentId, environmentId, plain: [], secrets: ['A'] };
};

function createWith(ctx: Ctx, changes: object) {
  const source = { kind: 'git', repositoryUrl: 'https://a.test/b' };
  const input = createAppInputSchema.parse({ name: 'Stolen', source, serverIds: [world.serverId], ...changes });
  return createApp(ctx, input, { hosts: links, keys: world.keys });
}

function addWith(ctx: Ctx, changes: object) {
  const plain = { appId: own.appId, environment: { kind: 'new', name: 'Stolen' }, serverIds: [world.serverId] };
  return addEnvironment(ctx, addEnvironmentInputSchema.parse({ ...plain, ...changes }), links);
}

const verbs: Record<string, readonly [string, (ctx: Ctx) => Promise<unknown>]> = {
  createApp: ['server.not_found', (ctx) => createWith(ctx, { serverIds: [foreign.serverId] })],
  'createApp with a foreign environment': [
    'environment.not_found',
    (ctx) => createWith(ctx, { environmentId: foreign.environmentId }),
  ],
  'createApp with a foreign second server': [
    'server.not_found',
    (ctx) => createWith(ctx, { serverIds: [world.serverId, foreign.serverId] }),
  ],
  'createApp that is built on a foreign server': [
    'server.not_found',
    (ctx) => createWith(ctx, { settings: { buildServerId: foreign.serverId } }),
  ],
  addEnvironment: ['app.not_found', (ctx) => addWith(ctx, { appId: foreign.appId })],
  'addEnvironment with a foreign environment': [
    'environment.not_found',
    (ctx) => addWith(ctx, { environment: { kind: 'existing', environmentId: foreign.environmentId } }),
  ],
  'addEnvironment with a foreign server': [
    'server.not_found',
    (ctx) => addWith(ctx, { serverIds: [foreign.serverId] }),
  ],
  'addEnvironment with a foreign release': [
    'release.not_found',
    (ctx) => addWith(ctx, { firstDeploy: { releaseId: foreign.releaseId } }),
  ],
  updateApp: ['app.not_found', (ctx) => updateApp(ctx, { appId: app(), name: 'Stolen', branch: 'x' })],
  restoreApp: ['app.not_deleted', (ctx) => restoreApp(ctx, { appId: app() })],
  'restoreApp of a deleted app': ['app.not_deleted', (ctx) => restoreApp(ctx, { appId: deletedApp() })],
  purgeDeletedApp: ['app.not_deleted', (ctx) => purgeDeletedApp(ctx, { appId: deletedApp(), confirmName: 'Gone' })],
  deleteApp: ['app.not_found', (ctx) => deleteApp(ctx, { appId: app(), confirmName: 'Hello' })],
  getApp: ['app.not_found', (ctx) => getApp(ctx, { slug: 'hello' }, links)],
  createDeployment: ['app.not_found', (ctx) => createDeployment(ctx, { appId: app() })],
  getDelivery: ['delivery.not_found', (ctx) => getDelivery(ctx, delivery())],
  retryPush: ['delivery.not_found', (ctx) => retryPush(ctx, { ...delivery(), appId: parseId('app', own.appId) })],
  'retryPush for a foreign app': ['delivery.not_found', (ctx) => retryPush(ctx, { ...delivery(), appId: app() })],
  getPushRules: ['app.not_found', (ctx) => getPushRules(ctx, { appId: app() })],
  updatePushRules: ['app.not_found', (ctx) => updatePushRules(ctx, { appId: app(), tagPattern: 'v*' })],
  approvePreview: ['preview.not_found', (ctx) => approvePreview(ctx, { ...preview(), commitHash: 'a'.repeat(40) })],
  removePreview: ['preview.not_found', (ctx) => removePreview(ctx, preview())],
  updatePreviewPolicy: [
    'app.not_found',
    (ctx) => updatePreviewPolicy(ctx, { appId: app(), enabled: true, previewsMax: 1, daysMax: 1, drafts: true }),
  ],
  listWebhooks: ['app.not_found', (ctx) => listWebhooks(ctx, { appId: app() })],
  createWebhook: [
    'app.not_found',
    (ctx) => createWebhook(ctx, { appId: app(), name: 'Stolen', kind: 'token' }, world.keys),
  ],
  deleteWebhook: ['webhook.not_found', (ctx) => deleteWebhook(ctx, { appId: app(), webhookId: webhook() })],
  rotateWebhook: ['webhook.not_found', (ctx) => rotateWebhook(ctx, { appId: app(), webhookId: webhook() }, world.keys)],
  getDeployment: ['deployment.not_found', (ctx) => getDeployment(ctx, deployment())],
  redeploy: ['deployment.not_found', (ctx) => redeploy(ctx, deployment())],
  cancelDeployment: ['deployment.not_found', (ctx) => cancelDeployment(ctx, deployment())],
  rollbackApp: ['app.not_found', (ctx) => rollbackApp(ctx, { appId: app(), releaseId: release() })],
  'rollbackApp to a foreign release': [
    'release.not_found',
    (ctx) => rollbackApp(ctx, { appId: parseId('app', own.appId), releaseId: release() }),
  ],
  readLog: ['deployment.not_found', (ctx) => readLog(ctx, { ...deployment(), fromLine: 0, limit: 10 }, store)],
  listDeploymentUrls: ['app.not_found', (ctx) => listDeploymentUrls(ctx, { appId: app() }, testUrl)],
  listReleases: ['app.not_found', (ctx) => listReleases(ctx, { appId: app(), limit: 10 })],
  attachDomain: [
    'app.not_found',
    (ctx) => attachDomain(ctx, { appId: app(), host: 'stolen.example.test', pathPrefix: '/' }, links),
  ],
  getDomainTls: ['domain.not_found', (ctx) => getDomainTls(ctx, { domainId: parseId('dom', foreignDomainId) })],
  updateDomainTls: [
    'domain.not_found',
    (ctx) => updateDomainTls(ctx, { domainId: parseId('dom', foreignDomainId), minTlsVersion: '1.3' }),
  ],
  getCertificateDetail: [
    'certificate.missing',
    (ctx) => getCertificateDetail(ctx, { certificateId: parseId('ucr', foreignUploadId) }),
  ],
  deleteCertificate: [
    'certificate.missing',
    (ctx) => deleteCertificate(ctx, { certificateId: parseId('ucr', foreignUploadId) }),
  ],
  updateDnsProvider: [
    'dns_provider.not_found',
    (ctx) => updateDnsProvider(ctx, { ...dnsProvider(), preferred: true }, world.keys),
  ],
  deleteDnsProvider: ['dns_provider.not_found', (ctx) => deleteDnsProvider(ctx, dnsProvider())],
  prepareDnsProviderTest: ['dns_provider.not_found', (ctx) => prepareDnsProviderTest(ctx, dnsProvider(), world.keys)],
  detachDomain: ['domain.not_found', (ctx) => detachDomain(ctx, { domainId: parseId('dom', foreignDomainId) })],
  getHost: ['domain.not_found', (ctx) => getHost(ctx, foreignHost())],
  verifyHost: ['domain.not_found', (ctx) => verifyHost(ctx, foreignHost())],
  releaseHost: ['domain.not_found', (ctx) => releaseHost(ctx, foreignHost())],
  transferHost: ['domain.not_found', (ctx) => transferHost(ctx, foreignHost())],
  getProject: ['project.not_found', (ctx) => getProject(ctx, project())],
  updateProject: ['project.not_found', (ctx) => updateProject(ctx, { ...project(), name: 'Stolen' })],
  deleteProject: ['project.not_found', (ctx) => deleteProject(ctx, { ...project(), confirmName: 'Default' })],
  getAppMove: ['app.not_found', (ctx) => getAppMove(ctx, { appId: app() })],
  moveApp: ['app.not_found', (ctx) => moveApp(ctx, { ...project(), appId: app(), environments: [] }, ownerRights)],
  'moveApp to a foreign project': [
    'project.not_found',
    (ctx) => moveApp(ctx, { ...project(), appId: parseId('app', own.appId), environments: [] }, ownerRights),
  ],
  getBaseDomain: ['server.not_found', (ctx) => getBaseDomain(ctx, { serverId: server() })],
  updateBaseDomain: [
    'server.not_found',
    (ctx) => updateBaseDomain(ctx, { serverId: server(), baseDomain: null }, links),
  ],
  updateAddresses: ['server.not_found', (ctx) => updateAddresses(ctx, { serverId: server(), addresses: [] })],
  getServer: ['server.not_found', (ctx) => getServer(ctx, { serverId: server() })],
  deleteServer: ['server.not_found', (ctx) => deleteServer(ctx, { serverId: server(), confirmName: 'local' })],
  uninstallServer: [
    'server.not_found',
    (ctx) => uninstallServer(ctx, { serverId: server(), confirmName: 'local', withData: true }),
  ],
  upgradeServer: ['server.not_found', (ctx) => upgradeServer(ctx, { serverId: server() }, [])],
  moveApps: [
    'server.not_found',
    (ctx) => moveApps(ctx, { serverId: server(), targetServerId: world.serverId }, isAllowed),
  ],
  cancelMove: ['volume_move.not_found', (ctx) => cancelMove(ctx, volumeMove())],
  retryMove: ['volume_move.not_found', (ctx) => retryMove(ctx, volumeMove())],
  createSnapshot: ['volume.not_found', (ctx) => createSnapshot(ctx, volume())],
  getDrain: ['server.not_found', (ctx) => getDrain(ctx, { serverId: server() })],
  drainServer: ['server.not_found', (ctx) => drainServer(ctx, { serverId: server(), drained: true }, isAllowed)],
  retryAgentRollout: ['agent_rollout.not_found', (ctx) => retryAgentRollout(ctx, rollout())],
  cancelAgentRollout: ['agent_rollout.not_found', (ctx) => cancelAgentRollout(ctx, rollout())],
  getEnrolment: [
    'enrolment.not_found',
    (ctx) => getEnrolment(ctx, { enrolmentId: parseId('enr', foreignEnrolmentId) }),
  ],
  moveServer: ['app.not_found', (ctx) => moveServer(ctx, { appId: app(), serverId: server() })],
  scaleApp: ['app.not_found', (ctx) => scaleApp(ctx, { appId: app(), instances: 2 })],
  restartApp: ['app.not_found', (ctx) => restartApp(ctx, { appId: app() })],
  deploySecrets: ['app.not_found', (ctx) => deploySecrets(ctx, { appId: app() })],
  listSecrets: ['app.not_found', (ctx) => listSecrets(ctx, { appId: app() })],
  listSecretVersions: ['secret.not_found', (ctx) => listSecretVersions(ctx, secret())],
  'updateSecrets (app)': [
    'app.not_found',
    (ctx) => updateSecrets(ctx, { owner: { appId: app() }, items: [{ name: 'A', value: 'x' }] }, world.keys),
  ],
  'updateSecrets (group)': [
    'secret.group_not_found',
    (ctx) => updateSecrets(ctx, { owner: group(), items: [{ name: 'A', value: 'x' }] }, world.keys),
  ],
  listVariables: ['app.not_found', (ctx) => listVariables(ctx, { appId: app() })],
  updateVariables: [
    'app.not_found',
    (ctx) =>
      updateVariables(ctx, { appId: app(), plain: [{ name: 'A', value: 'x' }], secrets: [], deleted: [] }, world.keys),
  ],
  'copyVariables (app)': ['app.not_found', (ctx) => copyVariables(ctx, copyOf(app()), world.keys)],
  'copyVariables (environment)': [
    'app.not_found',
    (ctx) => copyVariables(ctx, copyOf(parseId('app', own.appId)), world.keys),
  ],
  deleteSecret: ['secret.not_found', (ctx) => deleteSecret(ctx, secret())],
  revealSecret: ['secret.not_found', (ctx) => revealSecret(ctx, { ...secret(), number: 1 }, world.keys)],
  restoreSecret: ['secret.not_found', (ctx) => restoreSecret(ctx, { ...secret(), number: 1 }, world.keys)],
  createSecretGroup: [
    'environment.not_found',
    (ctx) => createSecretGroup(ctx, { name: 'stolen', projectId: parseId('prj', foreign.projectId) }),
  ],
  deleteSecretGroup: ['secret.group_not_found', (ctx) => deleteSecretGroup(ctx, group())],
  'attachSecretGroup (group)': [
    'secret.group_not_found',
    (ctx) => attachSecretGroup(ctx, { ...group(), appId: parseId('app', own.appId) }),
  ],
  'attachSecretGroup (app)': [
    'app.not_found',
    async (ctx) => attachSecretGroup(ctx, { ...(await createSecretGroup(ctx, { name: 'mine' })), appId: app() }),
  ],
  detachSecretGroup: [
    'secret.group_not_found',
    (ctx) => detachSecretGroup(ctx, { ...group(), appId: parseId('app', own.appId) }),
  ],
  getAppMetric: ['app.not_found', (ctx) => getAppMetric(ctx, { appId: app(), range: '1h' })],
  getServerMetric: ['server.not_found', (ctx) => getServerMetric(ctx, { serverId: server(), range: '1h' })],
  createBenchmark: [
    'app.not_found',
    (ctx) => createBenchmark(ctx, { appId: app(), plan: benchmarkPlanSchema.parse({}) }),
  ],
  getBenchmark: ['benchmark.not_found', (ctx) => getBenchmark(ctx, run())],
  importBenchmark: [
    'app.not_found',
    (ctx) =>
      importBenchmark(ctx, importBenchmarkInputSchema.parse({ appId: foreign.appId, document: importableDocument() })),
  ],
  updateBenchmark: ['benchmark.not_found', (ctx) => updateBenchmark(ctx, { ...run(), tags: ['mine'] })],
  deleteBenchmark: ['benchmark.not_found', (ctx) => deleteBenchmark(ctx, run())],
  cancelBenchmark: ['benchmark.not_found', (ctx) => cancelBenchmark(ctx, run())],
  'createBenchmark (plan)': [
    'benchmark_plan.not_found',
    (ctx) =>
      createBenchmark(ctx, {
        appId: parseId('app', own.appId),
        plan: benchmarkPlanSchema.parse({}),
        ...plan(),
      }),
  ],
  createPlan: [
    'app.not_found',
    (ctx) => createPlan(ctx, { appId: app(), name: 'Nightly', plan: benchmarkPlanSchema.parse({}) }),
  ],
  getPlan: ['benchmark_plan.not_found', (ctx) => getPlan(ctx, plan())],
  updatePlan: ['benchmark_plan.not_found', (ctx) => updatePlan(ctx, { ...plan(), version: 1, name: 'Weekly' })],
  updateSchedule: ['benchmark_plan.not_found', (ctx) => updateSchedule(ctx, { ...plan(), version: 1, schedule: null })],
  pauseSchedule: ['benchmark_plan.not_found', (ctx) => pauseSchedule(ctx, { ...plan(), version: 1, paused: true })],
  deletePlan: ['benchmark_plan.not_found', (ctx) => deletePlan(ctx, plan())],
  'requireTopics (app)': ['app.not_found', (ctx) => requireTopics(ctx, { topics: [{ kind: 'app', id: app() }] })],
  'requireTopics (server)': [
    'server.not_found',
    (ctx) => requireTopics(ctx, { topics: [{ kind: 'server', id: server() }] }),
  ],
  'requireTopics (deployment)': [
    'deployment.not_found',
    (ctx) => requireTopics(ctx, { topics: [{ kind: 'deployment', id: deployment().deploymentId }] }),
  ],
  'requireTopics (benchmark)': [
    'benchmark.not_found',
    (ctx) => requireTopics(ctx, { topics: [{ kind: 'benchmark', id: run().runId }] }),
  ],
  'requireTopics (organization)': [
    'organization.not_found',
    (ctx) => requireTopics(ctx, { topics: [{ kind: 'organization', id: parseId('org', foreign.organizationId) }] }),
  ],
};

describe('a foreign id is an unknown id', () => {
  test.each(Object.entries(verbs))('%s', async (_name, [code, call]) => {
    await expect(world.tenant(call)).rejects.toMatchObject({ code });
  });
});

test('a job for a foreign deployment or rollout does nothing', async () => {
  await world.system(({ tx }) => tx.agentRollout.updateMany({ data: { state: 'running' } }));
  expect(await world.tenant((ctx) => advanceAgentRollout(ctx, rollout()))).toBeNull();
  expect((await world.tenant((ctx) => getAgentRollout(ctx, []))).rollout).toBeNull();
  await world.tenant((ctx) => advanceDeployment(ctx, { deploymentId: foreign.deploymentId, workerId: 'w' }));
  expect(await world.tenant((ctx) => listSnapshots(ctx, volume()))).toEqual({ items: [] });
  expect(await world.tenant((ctx) => listMoves(ctx, { serverId: server() }))).toEqual({ items: [] });
});

test('lists hold rows of the own organization only', async () => {
  const page = { limit: 100 };
  await world.tenant(async (ctx) => {
    expect((await listApps(ctx, page, links)).items.map(({ id }) => id)).toEqual([own.appId]);
    expect((await listDeletedApps(ctx)).items).toEqual([]);
    expect((await listDeployments(ctx, page)).items.every(({ appId }) => appId === own.appId)).toBe(true);
    expect((await listDeployments(ctx, { ...page, appId: app() })).items).toEqual([]);
    expect((await listDeploymentFilters(ctx)).authors.length).toBeLessThan(2);
    expect((await listDomains(ctx, page, links)).items).toEqual([]);
    expect((await listServers(ctx)).items.map(({ id }) => id)).toEqual([world.serverId]);
    expect((await listMembers(ctx)).items).toHaveLength(1);
    expect((await listBenchmarks(ctx, page)).items).toEqual([]);
    expect(await listBenchmarkFilters(ctx)).toEqual({ tags: [] });
    expect((await listPlans(ctx, page)).items).toEqual([]);
    expect(await listSecretGroups(ctx)).toEqual([]);
    expect((await listProjects(ctx)).items.map(({ appCount }) => appCount)).toEqual([1]);
    expect((await listApps(ctx, { ...page, ...project() }, links)).items).toEqual([]);
    const overview = await getOverview(ctx, {}, wholeOverview(links));
    expect(JSON.stringify(overview)).not.toContain(foreign.appId);
    expect([overview.appCount, overview.serverCount]).toEqual([1, 1]);
  });
});

test('a foreign cursor is no way to look around a corner', async () => {
  const { items } = await world.tenant((ctx) => listDeployments(ctx, { limit: 10, cursor: foreign.deploymentId }));
  expect(items).toEqual([]);
});

test('a host that another organization holds can be attached, and neither appears to the other', async () => {
  const taken = await world.system(({ tx }) => tx.domain.findUniqueOrThrow({ where: { id: foreignDomainId } }));
  const { id } = await world.tenant((ctx) =>
    attachDomain(ctx, { appId: parseId('app', own.appId), host: taken.host, pathPrefix: '/' }, links),
  );
  const { items } = await world.tenant((ctx) => listDomains(ctx, { limit: 10, search: taken.host }, links));
  expect(items.map((item) => item.id)).toEqual([id]);
  expect((await world.desired()).routes.map(({ host }) => host)).not.toContain(taken.host);
  await world.tenant((ctx) => detachDomain(ctx, { domainId: id }));
});

test('two organizations may each have a server of the same name', async () => {
  await world.tenant((ctx) => createEnrolment(ctx, { name: 'next', isLocal: false }));
  await expect(world.tenant((ctx) => createEnrolment(ctx, { name: 'local', isLocal: false }))).rejects.toMatchObject({
    code: 'server.name_taken',
  });
});
