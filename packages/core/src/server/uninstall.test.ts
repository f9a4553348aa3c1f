// Removal of an agent on request: what refuses it, what the agent is told, and what its report changes.
import { create } from '@bufbuild/protobuf';
import { ReportSchema, UninstallStatusSchema, WorkState } from '@fairlead/contract/agent';
import { newId, type ServerId } from '@fairlead/contract/ids';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { recordReport } from '../link/index.ts';
import { drainServer } from '../placement/index.ts';
import { auditOf, type TestWorld, testWorld } from '../testing/index.ts';
import { deleteServer, findSessionServer, getServer, uninstallServer } from './index.ts';

let db: TestDatabase;
let world: TestWorld;
let edge: ServerId;

beforeEach(async () => {
  db = await testDatabase();
  world = await testWorld(db.database);
  edge = newId('srv');
  const { organizationId } = world;
  const link = { connectedGateway: 'test-gateway', lastSeenAt: world.clock.now(), capabilities: ['uninstall'] };
  await world.system(({ tx }) =>
    tx.server.create({ data: { id: edge, organizationId, name: 'edge', publicKey: Buffer.from(edge), ...link } }),
  );
});
afterEach(() => db.drop());

const uninstall = (confirmName = 'edge', withData = false) =>
  world.tenant((ctx) => uninstallServer(ctx, { serverId: edge, confirmName, withData }));
const change = (data: object) => world.system(({ tx }) => tx.server.update({ where: { id: edge }, data }));
const get = () => world.tenant((ctx) => getServer(ctx, { serverId: edge }));
const ordered = async () => (await world.desired(edge)).uninstall?.withData;
const say = (state: WorkState, message = '') =>
  world.system((ctx) =>
    recordReport(ctx, {
      serverId: edge,
      report: create(ReportSchema, {
        uninstall: create(UninstallStatusSchema, { state, failure: { code: 'uninstall.incomplete', message } }),
      }),
    }),
  );
const isAllowed = async () => {};
const isKnown = async () => (await world.system((ctx) => findSessionServer(ctx, { serverId: edge }))) !== null;

test('an agent that removed itself ends its server, and its identity is refused from then on', async () => {
  expect(await ordered()).toBeUndefined();
  await uninstall('edge', true);
  expect(await get()).toMatchObject({ uninstall: { withData: true, state: 'running' }, drainedAt: world.clock.now() });
  expect(await ordered()).toBe(true);
  await expect(uninstall()).rejects.toMatchObject({ code: 'server.uninstall_under_way' });
  const end = world.tenant((ctx) => drainServer(ctx, { serverId: edge, drained: false }, isAllowed));
  await expect(end).rejects.toMatchObject({ code: 'server.uninstall_under_way' });
  await say(WorkState.RUNNING);
  expect(await isKnown()).toBe(true);
  await say(WorkState.SUCCEEDED);
  expect(await isKnown()).toBe(false);
  await expect(say(WorkState.SUCCEEDED)).rejects.toMatchObject({ code: 'link.server_unknown' });
  expect((await auditOf(world)).slice(-2)).toEqual(['server.uninstall', 'server.delete']);
});

test('a failure is shown, ends the request, and can be tried again or given up', async () => {
  await uninstall();
  await say(WorkState.FAILED, 'Not everything could be removed: /x.');
  expect((await get()).uninstall).toMatchObject({
    state: 'failed',
    failureMessage: 'Not everything could be removed: /x.',
  });
  expect(await ordered()).toBeUndefined();
  await say(WorkState.SUCCEEDED);
  expect(await isKnown()).toBe(true);
  await uninstall();
  expect(await ordered()).toBe(false);
  await say(WorkState.FAILED);
  await world.tenant((ctx) => drainServer(ctx, { serverId: edge, drained: false }, isAllowed));
  expect(await get()).toMatchObject({ uninstall: null, drainedAt: null });
});

test('an agent that was not asked to remove itself keeps its server', async () => {
  await say(WorkState.SUCCEEDED);
  expect(await isKnown()).toBe(true);
});

test('what can not be removed is refused with its own sentence', async () => {
  await expect(uninstall('west')).rejects.toMatchObject({ code: 'server.confirm_mismatch' });
  const local = { serverId: world.serverId, confirmName: 'local', withData: false };
  await expect(world.tenant((ctx) => uninstallServer(ctx, local))).rejects.toMatchObject({ code: 'server.is_local' });
  await change({ capabilities: [] });
  await expect(uninstall()).rejects.toMatchObject({ code: 'server.uninstall_unsupported' });
  await change({ connectedGateway: null });
  await expect(uninstall()).rejects.toMatchObject({ code: 'server.not_connected' });
});

test('a server that does not answer is deleted without its agent, and its volumes are listed no more', async () => {
  const { appId } = await world.createApp('Shop', { host: 'shop.example.test', deployNow: false });
  const { organizationId } = world;
  const { environmentId } = await world.system(({ tx }) => tx.placement.findFirstOrThrow({ where: { appId } }));
  const id = newId('vol');
  await world.system(({ tx }) =>
    tx.volume.create({
      data: {
        id,
        organizationId,
        appId,
        environmentId,
        name: 'data',
        label: 'Shop',
        usedBytes: { [edge]: 5, other: 6 },
      },
    }),
  );
  await uninstall();
  await change({ connectedGateway: null });
  await world.tenant((ctx) => deleteServer(ctx, { serverId: edge, confirmName: 'edge' }));
  expect(await isKnown()).toBe(false);
  const volume = await world.system(({ tx }) => tx.volume.findUniqueOrThrow({ where: { id } }));
  expect(volume.usedBytes).toEqual({ other: 6 });
});
