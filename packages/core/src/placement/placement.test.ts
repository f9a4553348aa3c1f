import { newId, parseId, type ServerId } from '@fairlead/contract/ids';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type TestWorld, testWorld } from '../testing/index.ts';
import { attachServer, detachServer, moveServer, requirePlacement } from './index.ts';

let db: TestDatabase;
let world: TestWorld;
let appId: TestApp['appId'];
let deploymentId: string;
let count = 0;

type TestApp = Awaited<ReturnType<TestWorld['createApp']>>;

beforeAll(async () => {
  db = await testDatabase();
  world = await testWorld(db.database);
});
beforeEach(async () => {
  count += 1;
  const created = await world.createApp(`Shop ${count}`);
  appId = created.appId;
  deploymentId = created.deploymentId ?? '';
});
afterAll(() => db.drop());

async function newServer(name: string): Promise<ServerId> {
  const id = newId('srv');
  const publicKey = Buffer.from(id);
  const { organizationId } = world;
  await world.system(({ tx }) => tx.server.create({ data: { id, organizationId, name, publicKey } }));
  return id;
}
const attach = (serverId: ServerId) => world.tenant((ctx) => attachServer(ctx, { appId, serverId }));
const detach = (serverId: ServerId) => world.tenant((ctx) => detachServer(ctx, { appId, serverId }));
const move = (serverId: ServerId) => world.tenant((ctx) => moveServer(ctx, { appId, serverId }));
const placement = () => world.tenant((ctx) => requirePlacement(ctx, { appId }));
const serverIds = async () => (await placement()).servers.map(({ serverId }) => serverId);
const goLive = async () => {
  await world.advance(deploymentId);
  await world.finish(deploymentId);
};

test('servers keep the order in which they were added, and the next one follows a removed primary server', async () => {
  await world.tenant((ctx) => ctx.tx.deployment.deleteMany({ where: { appId } }));
  const [second, third] = [await newServer(`second ${count}`), await newServer(`third ${count}`)];
  await attach(third);
  await attach(second);
  expect(await serverIds()).toEqual([world.serverId, third, second]);
  await detach(world.serverId);
  expect(await placement()).toMatchObject({ serverId: third, isPrimary: true });
  await attach(world.serverId);
  expect(await serverIds()).toEqual([third, second, world.serverId]);
  await expect(attach(second)).rejects.toMatchObject({ code: 'placement.already' });
  await detach(third);
  await detach(second);
  await expect(detach(world.serverId)).rejects.toMatchObject({ code: 'placement.last' });
});

test('a server becomes the primary one once the app is live on it, and instances keep running', async () => {
  const second = await newServer(`edge ${count}`);
  await goLive();
  await attach(second);
  await expect(move(second)).rejects.toMatchObject({ code: 'placement.not_live' });
  const { id, liveReleaseId } = await placement();
  await world.system(({ tx }) =>
    tx.placementServer.updateMany({ where: { placementId: id, serverId: second }, data: { liveReleaseId } }),
  );
  const versions = () =>
    world.system(({ tx }) => tx.server.findMany({ select: { id: true, desiredNumber: true }, orderBy: { id: 'asc' } }));
  const before = await versions();
  await move(second);
  expect(await placement()).toMatchObject({ serverId: second, liveReleaseId });
  expect(await serverIds()).toEqual([second, world.serverId]);
  await move(world.serverId);
  await move(world.serverId);
  expect(await serverIds()).toEqual([world.serverId, second]);
  expect(await versions()).toEqual(before);
  await expect(move(parseId('srv', newId('srv')))).rejects.toMatchObject({ code: 'placement.missing' });
});

test('an app has one primary environment', async () => {
  const { environmentId, id } = await placement();
  const { organizationId } = world;
  const other = newId('env');
  await world.system(async ({ tx }) => {
    const { projectId } = await tx.environment.findFirstOrThrow({ where: { id: environmentId } });
    const data = { id: other, organizationId, projectId, name: `Other ${count}`, slug: `other-${count}` };
    await tx.environment.create({ data });
  });
  const twice = world.system(({ tx }) =>
    tx.placement.create({
      data: { id: newId('plc'), organizationId, appId, environmentId: other, branch: 'main', isPrimary: true },
    }),
  );
  await expect(twice).rejects.toMatchObject({ code: 'P2002' });
  expect(await placement()).toMatchObject({ id });
});
