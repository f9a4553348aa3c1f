// Tests of the overview's procedures: what a member acknowledges, and the lists that its groups lead to.
import { newId } from '@fairlead/contract/ids';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestApi, type TestApi } from './testing/index.ts';

let api: TestApi;
let owner: ReturnType<TestApi['caller']>;

beforeAll(async () => {
  api = await startTestApi();
  owner = api.caller((await api.signUp('Owner', 'owner')).cookie);
  for (const name of ['Shop', 'Desk']) {
    await api.world.createApp(name);
    api.world.clock.forward(1000);
  }
  await api.world.system(({ tx }) =>
    tx.deployment.updateMany({ data: { state: 'failed', failureCode: 'build.command_failed' } }),
  );
});
afterAll(() => api.close());

const failed = { attention: { kind: 'deployment_failed' as const } };

test('a list that a group leads to has exactly what the group counts', async () => {
  const [group] = (await owner.overview.get({})).attention.groups;
  expect(group).toMatchObject({ kind: 'deployment_failed', count: 2 });
  expect(await owner.deployment.list(failed)).toMatchObject({ items: [{}, {}], total: 2 });
  const first = await owner.deployment.list({ ...failed, search: 's', limit: 1 });
  expect(first).toMatchObject({ items: [{ appName: 'Desk' }], total: 2 });
  expect(await owner.deployment.list({ ...failed, limit: 1, cursor: first.nextCursor })).toMatchObject({
    items: [{ appName: 'Shop' }],
    nextCursor: null,
  });
  expect(await owner.deployment.list({ ...failed, search: 'desk' })).toMatchObject({ total: 1 });
  const other = { attention: { kind: 'deployment_failed' as const, cause: 'rollout.unhealthy' } };
  expect((await owner.deployment.list(other)).items).toEqual([]);
  expect((await owner.app.list({ attention: { kind: 'app_unhealthy' } })).items).toEqual([]);
  expect((await owner.server.list({ attention: { kind: 'server_offline' } })).items).toEqual([]);
  expect((await owner.certificate.list({ attention: { kind: 'certificate' } })).items).toEqual([]);
  await api.world.system(({ tx }) =>
    tx.server.updateMany({ data: { connectedGateway: null, lastSeenAt: api.world.clock.now() } }),
  );
  const offline = await owner.server.list({ attention: { kind: 'server_offline' } });
  expect(offline.items.map(({ id }) => id)).toEqual([api.world.serverId]);
  expect(offline.total).toBe(1);
  const online = { attention: { kind: 'server_offline' as const }, state: 'online' as const };
  expect(await owner.server.list(online)).toMatchObject({ items: [], total: 0 });
});

test('a member with one grant acknowledges what it reaches, and nobody else notices', async () => {
  const { organizationId } = api.world;
  const nothing = newId('rol');
  const { environmentId, projectId } = await api.world.system(async ({ tx }) => {
    await tx.customRole.create({ data: { id: nothing, organizationId, name: 'Nothing', permissions: [] } });
    return tx.environment.findFirstOrThrow().then(({ id, projectId }) => ({ environmentId: id, projectId }));
  });
  const { cookie } = await api.signUp('Guest', nothing);
  // Without a grant there is nothing to acknowledge.
  expect(await api.caller(cookie).overview.acknowledge({ kind: 'deployment_failed' })).toEqual({ count: 0 });
  await api.world.system(({ tx }) =>
    tx.roleGrant.create({
      data: { id: newId('grt'), organizationId, memberId: 'mem_Guest', role: 'viewer', environmentId },
    }),
  );
  const guest = api.caller(cookie);
  expect(await guest.overview.acknowledge({ kind: 'server_offline' })).toEqual({ count: 0 });
  expect(await guest.overview.acknowledge({ kind: 'deployment_failed', projectId })).toEqual({ count: 2 });
  expect((await guest.overview.get({})).attention).toMatchObject({ groups: [], acknowledged: [{ count: 2 }] });
  expect((await guest.deployment.list(failed)).items).toEqual([]);
  expect((await owner.deployment.list(failed)).items).toHaveLength(2);
  expect(await guest.overview.restore({ kind: 'deployment_failed' })).toEqual({ count: 2 });
  expect((await guest.deployment.list(failed)).items).toHaveLength(2);
});

test('the checklist has the steps that a member may take, and closes for them', async () => {
  const developer = api.caller((await api.signUp('Developer', 'developer')).cookie);
  const steps = async (caller: typeof owner) =>
    (await caller.overview.get({})).checklist?.map(({ step }) => step) ?? null;
  expect(await steps(developer)).toEqual(['deploy', 'domain']);
  expect(await steps(owner)).toEqual(['deploy', 'domain', 'invite', 'server']);
  await developer.overview.closeChecklist();
  expect(await steps(developer)).toBeNull();
  expect(await steps(owner)).not.toBeNull();
});

test('a stranger and a person without a session acknowledge nothing', async () => {
  const stranger = api.caller((await api.signUp('Stranger', null)).cookie);
  const input = { kind: 'deployment_failed' } as const;
  await expect(stranger.overview.acknowledge(input)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  await expect(api.caller(undefined).overview.acknowledge(input)).rejects.toMatchObject({ code: 'UNAUTHORIZED' });
});
