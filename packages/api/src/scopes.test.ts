// Grants in one place: what they open, what they leave closed, and what a stream needs.
import { newId, parseId } from '@fairlead/contract/ids';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestApi, type TestApi } from './testing/index.ts';

let api: TestApi;
let appId: ReturnType<typeof parseId<'app'>>;
let slug: string;
let environmentId: string;
let projectId: string;
let people = 0;

beforeAll(async () => {
  api = await startTestApi();
  const app = await api.world.createApp('Shop');
  slug = app.slug;
  appId = parseId('app', app.appId);
  const row = await api.world.tenant(({ tx }) => tx.environment.findFirstOrThrow());
  environmentId = row.id;
  projectId = row.projectId;
});
afterAll(() => api.close());

/** Somebody who may do nothing in the organization, and has `role` in one place of it. */
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
  return { caller: api.caller(cookie), cookie };
}

const denied = { message: expect.stringContaining('does not allow') };

test('a deployer of one environment deploys there, and can neither change the app nor see the rest', async () => {
  const { caller } = await granted('deployer', { environmentId });
  const { deploymentId } = await caller.deployment.create({ appId });
  expect((await caller.deployment.get({ deploymentId })).state).toBe('queued');
  expect((await caller.app.get({ slug })).id).toBe(appId);
  await expect(caller.app.update({ appId, name: 'Mine' })).rejects.toMatchObject(denied);
  await expect(caller.server.list()).rejects.toMatchObject(denied);
  await expect(caller.app.list({})).rejects.toMatchObject(denied);
});

test('a developer of a project changes its apps, and gives nobody what they lack', async () => {
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

test('a stream shows what its reader may see, and nothing beside it', async () => {
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

test('what is judged is what is read: a second key beside the right one opens nothing', async () => {
  const { organizationId } = api.world;
  const [otherProject, otherEnvironment, otherApp] = [newId('prj'), newId('env'), newId('app')];
  await api.world.system(async ({ tx }) => {
    await tx.project.create({ data: { id: otherProject, organizationId, name: 'Other', slug: 'other' } });
    await tx.environment.create({
      data: { id: otherEnvironment, organizationId, projectId: otherProject, name: 'Production', slug: 'production' },
    });
    await tx.app.create({
      data: {
        id: otherApp,
        organizationId,
        projectId: otherProject,
        name: 'Theirs',
        slug: 'theirs',
        repositoryUrl: 'https://git.example.test/theirs.git',
      },
    });
    await tx.placement.create({
      data: {
        id: newId('plc'),
        organizationId,
        appId: otherApp,
        environmentId: otherEnvironment,
        serverId: api.world.serverId,
        branch: 'main',
      },
    });
  });
  const { caller } = await granted('admin', { environmentId });
  const both: { slug: string } = Object.assign({ slug: 'theirs' }, { appId });
  await expect(caller.app.get(both)).rejects.toMatchObject(denied);
  const memberId = parseId('mem', 'mem_Guest1');
  for (const kind of ['organization', 'project'] as const) {
    const scope = { kind, projectId: otherProject, environmentId } as unknown as { kind: 'organization' };
    await expect(caller.grant.create({ memberId, role: 'developer', scope }), kind).rejects.toMatchObject(denied);
  }
});
