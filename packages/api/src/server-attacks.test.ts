// Attacks on the rights over servers by members of the organization. Each is refused, and a positive control shows that the
// same call succeeds without the protection.
import { type AppId, newId, parseId, type ServerId } from '@fairlead/contract/ids';
import { drainServer } from '@fairlead/core/placement';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestApi, type TestApi } from './testing/index.ts';
import { testMembers } from './testing/members.ts';

type EnvironmentId = ReturnType<typeof parseId<'env'>>;

interface AppServer {
  readonly appId: AppId;
  readonly serverId: ServerId;
}

let api: TestApi;
let owner: ReturnType<TestApi['caller']>;
let production: EnvironmentId;

beforeAll(async () => {
  api = await startTestApi();
  owner = api.caller((await api.signUp('Founder', 'owner')).cookie);
  const [first] = (await owner.environment.list()).items;
  production = parseId('env', first?.id ?? '');
});
afterAll(() => api.close());

const { member, customRole } = testMembers(() => api);
const denied = { message: expect.stringContaining('does not allow') };
const isProtected = { message: expect.stringContaining('is protected') };

async function newServer(): Promise<ServerId> {
  const id = newId('srv');
  const { organizationId } = api.world;
  await api.world.system(({ tx }) =>
    tx.server.create({ data: { id, organizationId, name: id, publicKey: Buffer.from(id) } }),
  );
  return id;
}

async function setProtected(environmentId: EnvironmentId, value: boolean): Promise<void> {
  await owner.environment.update({ environmentId, protected: value });
}

/** Someone with every right over servers, but none to approve. */
async function operator() {
  return member(await customRole(['server.read', 'server.write', 'app.read', 'app.write', 'deployment.write']));
}

/** Waits until that many transactions of this database wait for a lock. */
async function waiters(count: number): Promise<void> {
  const read = async () => {
    const [row] = await api.world.system(
      ({ tx }) => tx.$queryRaw<{ count: number }[]>`
        SELECT count(*)::int AS count FROM pg_locks JOIN pg_stat_activity USING (pid)
        WHERE NOT granted AND datname = current_database()`,
    );
    return row?.count;
  };
  await expect.poll(read, { timeout: 10_000 }).toBe(count);
}

/** Adds the app to the server in a transaction that stays open during `work`. */
async function duringAttachment<T>(app: AppServer, work: () => Promise<T>): Promise<T> {
  return api.world.tenant(async ({ tx, organizationId }) => {
    const where = { appId: app.appId, organizationId };
    const { id } = await tx.placement.findFirstOrThrow({ where, select: { id: true } });
    const row = { placementId: id, serverId: app.serverId, organizationId, position: 7 };
    await tx.placementServer.create({ data: { ...row, createdAt: api.world.clock.now() } });
    return work();
  });
}

test.each(['drain', 'moveApps'] as const)(
  'an app of a protected environment that joins a server while %s waits for its lock is protected too',
  async (verb) => {
    const [serverId, targetServerId] = [await newServer(), await newServer()];
    const { appId } = await api.world.createApp(`Joins ${verb}`, { deployNow: false });
    const { caller } = await operator();
    if (verb === 'moveApps') await owner.server.drain({ serverId, drained: true });
    await setProtected(production, true);
    const act = () =>
      verb === 'drain'
        ? caller.server.drain({ serverId, drained: true })
        : caller.server.moveApps({ serverId, targetServerId });
    const { attack } = await duringAttachment({ appId, serverId }, async () => {
      const started = act().catch((error: unknown) => error);
      await waiters(1);
      return { attack: started };
    });
    expect(await attack).toMatchObject(isProtected);
    const { drainedAt, apps } = await owner.server.drainState({ serverId });
    expect([drainedAt !== null, apps.length]).toEqual([verb === 'moveApps', 1]);
    await setProtected(production, false);
    await act();
  },
);

test('an app that joins a server during its drain is refused once the drain is committed', async () => {
  const serverId = await newServer();
  const { appId } = await api.world.createApp('Joins late', { deployNow: false });
  const { joined } = await api.world.tenant(async (ctx) => {
    await drainServer(ctx, { serverId, drained: true }, async () => {});
    const started = owner.app.attachServer({ appId, serverId }).catch((error: unknown) => error);
    await waiters(1);
    return { joined: started };
  });
  expect(await joined).toMatchObject({ message: expect.stringContaining('is drained') });
});

test('a server that only builds an app is drained with the rights of that app’s environment', async () => {
  const serverId = await newServer();
  const { appId } = await api.world.createApp('Built elsewhere', { deployNow: false });
  await owner.config.update({ appId, settings: { buildServerId: serverId } });
  const { caller } = await operator();
  const drain = (by: typeof caller) => by.server.drain({ serverId, drained: true });
  const servers = await member(await customRole(['server.read', 'server.write']));
  await expect(drain(servers.caller)).rejects.toMatchObject(denied);
  await setProtected(production, true);
  await expect(drain(caller)).rejects.toMatchObject(isProtected);
  await setProtected(production, false);
  expect(await drain(caller)).toMatchObject({ apps: [], builds: [{ appId }] });
  await owner.config.update({ appId, settings: { buildServerId: null } });
  expect(await drain(servers.caller)).toMatchObject({ builds: [] });
});

/** A deleted app that ran on one server and was built by another, in a protected environment of its own. */
async function buriedApp(name: string) {
  const [runner, builder] = [await newServer(), await newServer()];
  const { appId } = await api.world.createApp(name, { deployNow: false });
  const { environmentId } = await owner.environment.create({ name: `Vault of ${name}`, protected: true });
  const environment = { kind: 'existing' as const, environmentId };
  await owner.app.addEnvironment({ appId, environment, serverIds: [runner], firstDeploy: 'none' });
  await owner.config.update({ appId, environmentId, settings: { buildServerId: builder } });
  await owner.app.delete({ appId, confirmName: name });
  return { runner, builder, purge: () => owner.app.purge({ appId, confirmName: name }) };
}

test('a server keeps the protection of a deleted app that it ran or built', async () => {
  const { runner, builder, purge } = await buriedApp('Buried');
  const { caller } = await operator();
  const { proxy } = await owner.server.get({ serverId: runner });
  const attacks = [
    () => caller.server.drain({ serverId: runner, drained: true }),
    () => caller.server.drain({ serverId: builder, drained: true }),
    () => caller.server.moveApps({ serverId: runner, targetServerId: api.world.serverId }),
    () => caller.server.updateProxy({ serverId: runner, proxy }),
  ];
  for (const attack of attacks) await expect(attack()).rejects.toMatchObject(isProtected);
  await purge();
  for (const attack of attacks) await attack();
});

test('a deleted app also protects its server from removal and from another program', async () => {
  const { runner, purge } = await buriedApp('Sleeping');
  const { caller } = await member(await customRole(['server.read', 'server.delete', 'server.upgrade']));
  const attacks = [
    () => caller.server.delete({ serverId: runner, confirmName: 'wrong' }),
    () => caller.server.upgrade({ serverId: runner }),
    () => caller.agentRollout.start(),
  ];
  for (const attack of attacks) await expect(attack()).rejects.toMatchObject(isProtected);
  await purge();
  // They get beyond the protection: none fits this server.
  for (const attack of attacks) await expect(attack()).rejects.not.toMatchObject(isProtected);
});
