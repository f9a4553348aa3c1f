// Grants in one scope: the calls that they allow and deny, and the permissions of a stream.
import { newId, parseId } from '@fairlead/contract/ids';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestApi, type TestApi } from './testing/index.ts';

let api: TestApi;
let appId: ReturnType<typeof parseId<'app'>>;
let slug: string;
let environmentId: string;
let projectId: string;
let people = 0;
/** Rows of a second project, without a grant for it. */
let hidden: { projectId: string; environmentId: string; appId: string; groupId: string; deploymentId: string };

beforeAll(async () => {
  api = await startTestApi();
  const app = await api.world.createApp('Shop');
  slug = app.slug;
  appId = parseId('app', app.appId);
  const row = await api.world.tenant(({ tx }) => tx.environment.findFirstOrThrow());
  environmentId = row.id;
  projectId = row.projectId;
  hidden = await insertHidden();
});
afterAll(() => api.close());

async function insertHidden(): Promise<typeof hidden> {
  const { organizationId, serverId } = api.world;
  const ids = {
    projectId: newId('prj'),
    environmentId: newId('env'),
    appId: newId('app'),
    groupId: newId('scg'),
    deploymentId: newId('dep'),
  };
  const inOrganization = { organizationId, projectId: ids.projectId };
  const placed = { organizationId, appId: ids.appId, environmentId: ids.environmentId };
  await api.world.system(async ({ tx }) => {
    await tx.project.create({ data: { id: ids.projectId, organizationId, name: 'Other', slug: 'other' } });
    await tx.environment.create({
      data: { ...inOrganization, id: ids.environmentId, name: 'Production', slug: 'production' },
    });
    await tx.app.create({
      data: {
        ...inOrganization,
        id: ids.appId,
        name: 'Theirs',
        slug: 'theirs',
        repositoryUrl: 'https://git.example.test/theirs.git',
      },
    });
    const servers = { create: { serverId, position: 0 } };
    await tx.placement.create({ data: { ...placed, id: newId('plc'), branch: 'main', isPrimary: true, servers } });
    await tx.deployment.create({
      data: { ...placed, id: ids.deploymentId, number: 1, trigger: 'manual', state: 'failed', ref: 'main' },
    });
    await tx.domain.create({ data: { ...placed, id: newId('dom'), host: 'theirs.example.test' } });
    await tx.benchmarkRun.create({
      data: { ...placed, id: newId('run'), serverId, state: 'queued', plan: { host: 'theirs.example.test' } },
    });
    await tx.secretGroup.create({ data: { ...inOrganization, id: ids.groupId, name: 'theirs' } });
  });
  return ids;
}

/** Creates a person without permissions in the organization, with `role` in one scope of it. */
async function granted(role: string, place: { projectId?: string; environmentId?: string }) {
  people += 1;
  const nothing = newId('rol');
  const { organizationId } = api.world;
  await api.world.system(({ tx }) =>
    tx.customRole.create({ data: { id: nothing, organizationId, name: `Nothing ${people}`, permissions: [] } }),
  );
  const name = `Guest${people}`;
  const { cookie } = await api.signUp(name, nothing);
  await api.world.system(({ tx }) =>
    tx.roleGrant.create({ data: { id: newId('grt'), organizationId, memberId: `mem_${name}`, role, ...place } }),
  );
  return { caller: api.caller(cookie), cookie, memberId: `mem_${name}` };
}

const denied = { message: expect.stringContaining('does not allow') };

test('a deployer of one environment deploys there, and can neither change the app nor see the rest', async () => {
  const { caller } = await granted('deployer', { environmentId });
  const { deploymentId } = await caller.deployment.create({ appId });
  expect((await caller.deployment.get({ deploymentId })).state).toBe('queued');
  expect((await caller.app.get({ slug })).id).toBe(appId);
  await expect(caller.app.update({ appId, name: 'Mine' })).rejects.toMatchObject(denied);
  await expect(caller.server.list()).rejects.toMatchObject(denied);
  await expect(caller.token.list()).rejects.toMatchObject(denied);
});

test.each(['project', 'environment'] as const)(
  'lists show what a grant on the %s covers, and nothing beside it',
  async (place) => {
    const { caller } = await granted('deployer', place === 'project' ? { projectId } : { environmentId });
    const { deploymentId } = await caller.deployment.create({ appId });
    await caller.domain.attach({ appId, host: `${place}.example.test` });
    expect((await caller.app.list({})).items.map(({ id }) => id)).toEqual([appId]);
    const deployments = (await caller.deployment.list({})).items.map(({ id }) => id);
    expect(deployments).toContain(deploymentId);
    expect(deployments).not.toContain(hidden.deploymentId);
    const hosts = (await caller.domain.list({})).items.map(({ host }) => host);
    expect(hosts).toContain(`${place}.example.test`);
    expect(hosts).not.toContain('theirs.example.test');
    expect((await caller.benchmark.list({})).items).toEqual([]);
    expect((await caller.environment.list()).items.map(({ id }) => id)).toEqual([environmentId]);
    const overview = await caller.overview.get({});
    expect(overview).toMatchObject({ appCount: 1, servers: [], serverCount: 0 });
    expect(JSON.stringify(overview)).not.toMatch(/theirs/i);
    // A search in a list reveals nothing of a hidden row.
    expect((await caller.app.list({ search: 'theirs' })).items).toEqual([]);
    const none = { items: [], total: 0 };
    expect(await caller.app.list({ sort: 'p99', search: 'theirs' })).toMatchObject(none);
    expect(await caller.app.list({ state: 'failed' })).toMatchObject(none);
    expect(await caller.app.list({ environmentId: parseId('env', hidden.environmentId) })).toMatchObject(none);
    expect(await caller.deployment.list({ state: 'failed' })).toMatchObject(none);
    expect(await caller.deployment.list({ projectId: parseId('prj', hidden.projectId) })).toMatchObject(none);
    expect((await caller.deployment.listFilters()).branches).toEqual(['main']);
  },
);

test('without a permission there are no lists; with it everywhere a list shows all', async () => {
  const { caller } = await granted('viewer', { environmentId });
  await expect(caller.secret.listGroups()).rejects.toMatchObject(denied);
  const { cookie } = await api.signUp('Everywhere', 'viewer');
  const all = api.caller(cookie);
  expect((await all.app.list({})).items.map(({ slug }) => slug)).toEqual([slug, 'theirs']);
  expect(JSON.stringify(await all.overview.get({}))).toContain('Theirs');
});

test('secrets of an app belong to its environment, shared ones to their project', async () => {
  const inEnvironment = (await granted('developer', { environmentId })).caller;
  const inProject = (await granted('developer', { projectId })).caller;
  await inEnvironment.secret.update({ owner: { appId }, items: [{ name: 'API_KEY', value: 'one' }] });
  const { secrets } = await inEnvironment.secret.list({ appId });
  expect(secrets.map(({ name }) => name)).toEqual(['API_KEY']);
  const secretId = secrets[0]?.id ?? parseId('sec', '');
  expect((await inEnvironment.secret.versions({ secretId })).versions).toHaveLength(1);
  await expect(inEnvironment.secret.createGroup({ name: 'mine' })).rejects.toMatchObject(denied);
  await expect(inEnvironment.secret.reveal({ secretId, number: 1 })).rejects.toMatchObject(denied);
  await expect(inProject.secret.createGroup({ name: 'mine' })).rejects.toMatchObject(denied);
  const { groupId } = await inProject.secret.createGroup({ name: 'mine', projectId: parseId('prj', projectId) });
  await inProject.secret.attachGroup({ groupId, appId });
  await expect(inEnvironment.secret.detachGroup({ groupId, appId })).rejects.toMatchObject(denied);
  expect((await inProject.secret.listGroups()).map(({ id }) => id)).toEqual([groupId]);
  expect(await inEnvironment.secret.listGroups()).toEqual([]);
  const theirs = parseId('scg', hidden.groupId);
  await expect(inProject.secret.deleteGroup({ groupId: theirs })).rejects.toMatchObject(denied);
  const owner = { appId: parseId('app', hidden.appId) };
  const items = [{ name: 'STOLEN', value: 'x' }];
  await expect(inProject.secret.update({ owner, items })).rejects.toMatchObject(denied);
});

test('a developer of a project changes its apps, and grants no permission that they lack', async () => {
  const { caller } = await granted('developer', { projectId });
  expect((await caller.app.update({ appId, branch: 'next' })).id).toBe(appId);
  await expect(caller.app.delete({ appId, confirmName: 'Shop' })).rejects.toMatchObject(denied);
  await expect(
    caller.grant.create({
      memberId: parseId('mem', 'mem_Guest1'),
      role: 'developer',
      scope: { kind: 'project', projectId: parseId('prj', projectId) },
    }),
  ).rejects.toMatchObject(denied);
});

test('an admin of a project gives roles in it, and none beyond it', async () => {
  const { caller } = await granted('admin', { projectId });
  const memberId = parseId('mem', 'mem_Guest1');
  const give = (scope: Parameters<typeof caller.grant.create>[0]['scope']) =>
    caller.grant.create({ memberId, role: 'developer', scope });
  const { grantId } = await give({ kind: 'project', projectId: parseId('prj', projectId) });
  await expect(give({ kind: 'organization' })).rejects.toMatchObject(denied);
  expect(await caller.grant.delete({ grantId })).toEqual({ grantId });
});

test('a stream shows only rows that its reader may see', async () => {
  const { cookie } = await granted('viewer', { environmentId });
  const watch = async (topics: Parameters<ReturnType<typeof api.caller>['live']['watch']>[0]['topics']) => {
    const stream = await api.caller(cookie).live.watch({ topics });
    const listening = Promise.withResolvers<'listening'>();
    api.live.onSubscribe = () => listening.resolve('listening');
    const first = stream[Symbol.asyncIterator]().next();
    const outcome = await Promise.race([
      listening.promise,
      first.then(
        () => 'event' as const,
        (error: unknown) => error,
      ),
    ]);
    api.live.onSubscribe = null;
    api.live.push({ type: 'changed', kind: 'app', id: appId });
    await first.catch(() => null);
    return outcome;
  };
  expect(await watch([{ kind: 'app', id: appId }])).toBe('listening');
  expect(await watch([{ kind: 'server', id: api.world.serverId }])).toMatchObject(denied);
  expect(
    await watch([
      { kind: 'app', id: appId },
      { kind: 'organization', id: api.world.organizationId },
    ]),
  ).toMatchObject(denied);
});

test('the checked row is the row that is read: a second key beside the right one opens nothing', async () => {
  const { caller } = await granted('admin', { environmentId });
  const both: { slug: string } = Object.assign({ slug: 'theirs' }, { appId });
  await expect(caller.app.get(both)).rejects.toMatchObject(denied);
  const memberId = parseId('mem', 'mem_Guest1');
  for (const kind of ['organization', 'project'] as const) {
    const scope = { kind, projectId: hidden.projectId, environmentId } as unknown as { kind: 'organization' };
    await expect(caller.grant.create({ memberId, role: 'developer', scope }), kind).rejects.toMatchObject(denied);
  }
});

test('a release goes where one may deploy, and comes only from where one may see or deploy', async () => {
  const { organizationId, serverId } = api.world;
  const owner = api.caller((await api.signUp('Promoter', 'owner')).cookie);
  const moved = await api.world.createApp('Moved', { host: 'moved.example.test', deployNow: true });
  await api.world.advance(moved.deploymentId ?? '');
  await api.world.finish(moved.deploymentId ?? '');
  const { environmentId: target } = await owner.app.addEnvironment({
    appId: moved.appId,
    environment: { kind: 'new', name: 'Target' },
    serverIds: [serverId],
    firstDeploy: 'none',
  });
  const release = await api.world.tenant(({ tx }) => tx.release.findFirstOrThrow({ where: { appId: moved.appId } }));
  const input = { environmentId: target, releaseId: parseId('rel', release.id) };

  const atSource = await granted('deployer', { environmentId: release.environmentId });
  await expect(atSource.caller.deployment.promote(input)).rejects.toMatchObject(denied);
  const { cookie, memberId } = await granted('deployer', { environmentId: target });
  await expect(api.caller(cookie).deployment.promote(input)).rejects.toMatchObject(denied);
  for (const permission of ['deployment.read', 'deployment.write']) {
    const role = newId('rol');
    await api.world.system(async ({ tx }) => {
      await tx.customRole.create({ data: { id: role, organizationId, name: permission, permissions: [permission] } });
      await tx.roleGrant.deleteMany({ where: { memberId, environmentId: release.environmentId } });
      await tx.roleGrant.create({
        data: { id: newId('grt'), organizationId, memberId, role, environmentId: release.environmentId },
      });
    });
    const { deploymentId } = await api.caller(cookie).deployment.promote(input);
    expect(deploymentId).toMatch(/^dep_/);
  }
});

/** From which environments their stream of the app shows samples. */
async function samplesOf(caller: ReturnType<typeof api.caller>, environmentIds: readonly string[]): Promise<string[]> {
  const stream = (await caller.live.watch({ topics: [{ kind: 'app', id: appId }] }))[Symbol.asyncIterator]();
  const listening = Promise.withResolvers<void>();
  api.live.onSubscribe = () => listening.resolve();
  const seen: string[] = [];
  let next = stream.next();
  await listening.promise;
  api.live.onSubscribe = null;
  for (const id of environmentIds) api.live.push(sampleOf(id));
  // Events that were let through come before it.
  api.live.push({ type: 'changed', kind: 'server', id: api.world.serverId });
  for (;;) {
    const { value } = await next;
    if (value?.type === 'app.sample') seen.push(value.environmentId);
    if (value?.type === 'changed' && value.kind === 'server') break;
    next = stream.next();
  }
  await stream.return?.();
  return seen;
}

function sampleOf(environment: string) {
  const sample = { type: 'app.sample', appId, environmentId: parseId('env', environment), unixMs: 1 } as const;
  const counts = { requestsPerSecond: 1, errorsPerSecond: 0, clientErrorsPerSecond: 0, inFlight: 0 } as const;
  const sizes = { bytesReceivedPerSecond: 0, bytesSentPerSecond: 0, cpuMillis: 0, memoryBytes: 0 } as const;
  return { ...sample, latency: [], ...counts, ...sizes, serverId: parseId('srv', api.world.serverId) };
}

test('a grant for one environment never allows acts on the primary one', async () => {
  const { organizationId, serverId } = api.world;
  const staging = newId('env');
  await api.world.system(async ({ tx }) => {
    await tx.environment.create({ data: { id: staging, organizationId, projectId, name: 'Staging', slug: 'staging' } });
    const servers = { create: { serverId, position: 0 } };
    await tx.placement.create({
      data: { id: newId('plc'), organizationId, appId, environmentId: staging, branch: 'next', servers },
    });
  });
  const { caller } = await granted('developer', { environmentId: staging });
  const there = { appId, environmentId: parseId('env', staging) };

  await caller.app.scale({ ...there, instances: 3 });
  await caller.domain.attach({ ...there, host: 'staging.example.test' });
  const owner = { appId, environmentId: there.environmentId };
  await caller.secret.update({ owner, items: [{ name: 'ONLY_THERE', value: 'x' }] });
  const { deploymentId } = await caller.deployment.create(there);

  expect((await caller.secret.list(there)).secrets.map(({ name }) => name)).toEqual(['ONLY_THERE']);
  expect((await caller.deployment.list(there)).items.map(({ id }) => id)).toEqual([deploymentId]);
  expect((await caller.metric.app({ ...there, range: '1h' })).totals.requests).toBe(0);
  const view = await caller.app.get({ slug, environmentId: there.environmentId });
  expect(view).toMatchObject({ environmentName: 'Staging', branch: 'next', instancesWanted: 3 });
  expect(view.hosts).toEqual(['staging.example.test']);
  // Its page opens that environment by default; other environments of the app stay hidden.
  expect(view.placements.map(({ environmentName }) => environmentName)).toEqual(['Staging']);
  expect(await caller.app.get({ slug })).toMatchObject({ environmentName: 'Staging', isPrimary: false });
  expect((await caller.app.list({})).items).toMatchObject([{ slug, environmentId: staging, isPrimary: false }]);
  expect((await caller.overview.get({})).appCount).toBe(1);
  await expect(caller.app.get({ slug, environmentId: parseId('env', environmentId) })).rejects.toMatchObject(denied);
  const everybody = api.caller((await api.signUp('Everybody', 'viewer')).cookie);
  expect(await everybody.app.get({ slug })).toMatchObject({ environmentName: 'Production', isPrimary: true });
  expect((await everybody.app.get({ slug })).placements).toHaveLength(2);
  expect(await samplesOf(caller, [environmentId, staging])).toEqual([staging]);
  expect(await samplesOf(everybody, [environmentId, staging])).toEqual([environmentId, staging]);

  const primary = await api.world.tenant(({ tx }) =>
    tx.placement.findFirstOrThrow({ where: { appId, environmentId }, select: { instances: true } }),
  );
  expect(primary.instances).toBe(1);
  await expect(caller.app.scale({ appId, instances: 3 })).rejects.toMatchObject(denied);
  await expect(caller.secret.list({ appId })).rejects.toMatchObject(denied);
  await expect(caller.metric.app({ appId, range: '1h' })).rejects.toMatchObject(denied);
  await expect(caller.domain.attach({ appId, host: 'home.example.test' })).rejects.toMatchObject(denied);
});

test('a host gets another path only from a member who may write all of its paths', async () => {
  const { organizationId, serverId } = api.world;
  const staging = newId('env');
  await api.world.system(async ({ tx }) => {
    await tx.environment.create({ data: { id: staging, organizationId, projectId, name: 'Beside', slug: 'beside' } });
    await tx.placement.create({
      data: {
        id: newId('plc'),
        organizationId,
        appId,
        environmentId: staging,
        branch: 'next',
        servers: { create: { serverId, position: 0 } },
      },
    });
    await tx.domain.create({
      data: { id: newId('dom'), organizationId, appId, environmentId, host: 'live.example.test' },
    });
  });
  const there = { appId, environmentId: parseId('env', staging) };
  const login = { ...there, host: 'live.example.test', pathPrefix: '/login' };
  const { caller } = await granted('developer', { environmentId: staging });
  await caller.domain.attach({ ...there, host: 'next.example.test' });
  await caller.domain.attach({ ...there, host: 'next.example.test', pathPrefix: '/login' });
  await expect(caller.domain.attach(login)).rejects.toMatchObject({ message: expect.stringContaining('in use') });
  const both = (await granted('developer', { projectId })).caller;
  expect(await both.domain.attach(login)).toMatchObject({ pathPrefix: '/login' });
});
