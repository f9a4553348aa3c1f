// Tests that each procedure that opens a server's network to an app needs `server.write` and a fresh session. Each refusal has
// a positive control.
import { newId, parseId } from '@fairlead/contract/ids';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { startTestApi, type TestApi } from './testing/index.ts';

type Caller = ReturnType<TestApi['caller']>;

let api: TestApi;
let owner: Caller;
let developer: Caller;
let deployer: Caller;
let appId: ReturnType<typeof parseId<'app'>>;
let production: ReturnType<typeof parseId<'env'>>;
let staging: ReturnType<typeof parseId<'env'>>;
let apps = 0;

beforeAll(async () => {
  api = await startTestApi();
  const sign = async (role: string) => api.caller((await api.signUp(`Person${role}`, role)).cookie);
  [owner, developer, deployer] = [await sign('owner'), await sign('developer'), await sign('deployer')];
  const [first] = (await owner.environment.list()).items;
  production = parseId('env', first?.id ?? '');
  api.world.clock.forward(1000);
  staging = (await owner.environment.create({ name: 'Staging' })).environmentId;
  await api.world.system(({ tx }) => tx.server.updateMany({ data: { capabilities: ['network', 'transfer'] } }));
});
afterAll(() => api.close());
beforeEach(async () => {
  apps += 1;
  ({ appId } = await api.world.createApp(`Harbour ${apps}`, { deployNow: false }));
});

const refusedBy = (errorCode: string) => ({ cause: { published: { errorCode } } });
const settingsClosed = refusedBy('config.network_closed');
const releaseClosed = refusedBy('release.network_closed');
const placementClosed = refusedBy('placement.network_closed');
const open = { privateNetwork: true, serverPorts: ['127.0.0.1:5432'] };
const closed = { privateNetwork: false, serverPorts: [] };
const settingsOf = async () => (await owner.config.get({ appId })).settings;

/** Deploys with the newest settings; returns the release that is live then. */
async function goLive() {
  const { deploymentId } = await owner.deployment.create({ appId });
  await api.world.advance(deploymentId);
  await api.world.finish(deploymentId);
  const { state, releaseId } = await owner.deployment.get({ deploymentId });
  expect(state).toBe('live');
  return parseId('rel', releaseId ?? '');
}

async function newServer() {
  const { organizationId, clock } = api.world;
  const id = newId('srv');
  await api.world.system(({ tx }) =>
    tx.server.create({
      data: {
        id,
        organizationId,
        name: id,
        publicKey: Buffer.from(id.padEnd(32).slice(-32)),
        connectedAt: clock.now(),
      },
    }),
  );
  return parseId('srv', id);
}

test('without server.write neither private network access nor server ports can be changed', async () => {
  for (const caller of [developer, deployer]) {
    for (const settings of [{ privateNetwork: true }, { serverPorts: ['5432'] }]) {
      await expect(caller.config.update({ appId, settings })).rejects.toMatchObject(settingsClosed);
    }
  }
  expect(await settingsOf()).toMatchObject(closed);
  await owner.config.update({ appId, settings: open });
  // Closing is a change too: it would take another app's database away.
  for (const settings of [{ privateNetwork: false }, { serverPorts: [] }, { serverPorts: ['5432', '5433'] }]) {
    await expect(developer.config.update({ appId, settings })).rejects.toMatchObject(settingsClosed);
  }
  expect(await settingsOf()).toMatchObject(open);
});

test('other settings only need the permission to change the app', async () => {
  await owner.config.update({ appId, settings: open });
  const variables = { LOG_LEVEL: 'info' };
  await developer.config.update({ appId, settings: { variables } });
  // A form sends what it shows, also in another spelling.
  const unchanged = { privateNetwork: true, serverPorts: ['5432'] };
  await developer.config.update({ appId, settings: { ...unchanged, stopTimeoutMs: 5000 } });
  expect(await settingsOf()).toMatchObject({
    ...open,
    variables: { LOG_LEVEL: { value: 'info', scope: 'both' } },
    stopTimeoutMs: 5000,
  });
});

test('a version with another network is restored with server.write and a fresh session only', async () => {
  await owner.config.update({ appId, settings: open });
  await owner.config.update({ appId, settings: { stopTimeoutMs: 5000 } });
  const restore = (caller: Caller, number: number) => caller.config.restore({ appId, number });
  expect(await restore(developer, 1)).toMatchObject({ number: 3, leftOut: [] });
  await owner.config.update({ appId, settings: closed });
  for (const caller of [developer, deployer]) {
    await expect(restore(caller, 1)).rejects.toMatchObject(settingsClosed);
  }
  api.world.clock.forward(16 * 60_000);
  try {
    await expect(restore(owner, 1)).rejects.toMatchObject(refusedBy('session.not_fresh'));
  } finally {
    api.world.clock.forward(-16 * 60_000);
  }
  expect(await settingsOf()).toMatchObject(closed);
  expect(await restore(owner, 1)).toMatchObject({ number: 5 });
  expect(await settingsOf()).toMatchObject(open);
});

test('server.write must be held in the whole organization, and does not allow changing an app', async () => {
  const role = async (permissions: string[]) => {
    const id = newId('rol');
    const { organizationId } = api.world;
    await api.world.system(({ tx }) => tx.customRole.create({ data: { id, organizationId, name: id, permissions } }));
    return id;
  };
  const member = async (id: string) => {
    const { cookie, userId } = await api.signUp(`Holder${id.slice(4)}`, id);
    const { id: memberId } = await api.world.system(({ tx }) => tx.member.findFirstOrThrow({ where: { userId } }));
    return { caller: api.caller(cookie), memberId };
  };
  const both = await role(['app.write', 'server.write']);
  const narrow = await member(await role(['app.write']));
  const { organizationId } = api.world;
  await api.world.system(({ tx }) =>
    tx.roleGrant.create({
      data: { id: newId('grt'), organizationId, memberId: narrow.memberId, role: both, environmentId: production },
    }),
  );
  const update = (caller: Caller) => caller.config.update({ appId, settings: open });
  await expect(update(narrow.caller)).rejects.toMatchObject(settingsClosed);
  const { caller: manager } = await member(await role(['server.write']));
  await expect(update(manager)).rejects.toMatchObject(refusedBy('permission.denied'));
  await update((await member(both)).caller);
  expect(await settingsOf()).toMatchObject(open);
});

test('an old session changes other settings, and these after the person confirmed their identity', async () => {
  const { token } = await owner.token.create({
    name: newId('tok'),
    permissions: ['app.write', 'server.write'],
    lifetimeDays: 1,
  });
  api.world.clock.forward(16 * 60_000);
  try {
    await expect(owner.config.update({ appId, settings: open })).rejects.toMatchObject(refusedBy('session.not_fresh'));
    await owner.config.update({ appId, settings: { ...closed, stopTimeoutMs: 5000 } });
    // Only a fresh session makes a token.
    await api.tokenCaller(token).config.update({ appId, settings: open });
  } finally {
    api.world.clock.forward(-16 * 60_000);
  }
  expect(await settingsOf()).toMatchObject(open);
});

test('a protected environment also requires its approver', async () => {
  await owner.environment.update({ environmentId: production, protected: true });
  const { cookie } = await api.signUp('Admin', 'admin');
  try {
    await expect(deployer.config.update({ appId, settings: open })).rejects.toMatchObject(settingsClosed);
    await api.caller(cookie).config.update({ appId, settings: open });
  } finally {
    await owner.environment.update({ environmentId: production, protected: false });
  }
});

test('a bad server port is refused with a sentence for its field', async () => {
  const update = owner.config.update({ appId, settings: { serverPorts: ['5432', 'localhost:5432'] } });
  await expect(update).rejects.toMatchObject({
    cause: { published: { errorCode: 'input.invalid', fields: { 'settings.serverPorts.1': expect.anything() } } },
  });
});

test('a rollback without server.write reopens nothing', async () => {
  const before = await goLive();
  await owner.config.update({ appId, settings: open });
  const wide = await goLive();
  await owner.config.update({ appId, settings: { ...open, serverPorts: [] } });
  const now = await goLive();

  const back = (caller: Caller, releaseId: typeof wide) => caller.deployment.rollback({ appId, releaseId });
  await expect(back(developer, wide)).rejects.toMatchObject(releaseClosed);
  // A release that opens less than the settings do now needs no permission.
  await api.world.advance((await back(developer, before)).deploymentId);
  const { items } = await owner.deployment.list({ appId, limit: 1 });
  await api.world.finish(items[0]?.id ?? '');
  await back(developer, now);
  await back(owner, wide);
});

test('a retry reopens nothing either', async () => {
  await owner.config.update({ appId, settings: open });
  const { deploymentId } = await owner.deployment.create({ appId });
  await api.world.advance(deploymentId);
  await api.world.finish(deploymentId);
  await api.world.system(({ tx }) =>
    tx.deployment.update({ where: { id: deploymentId }, data: { state: 'failed', failureCode: 'rollout.unhealthy' } }),
  );
  await owner.config.update({ appId, settings: closed });
  await expect(developer.deployment.retry({ deploymentId })).rejects.toMatchObject(releaseClosed);
  await owner.config.update({ appId, settings: open });
  await developer.deployment.retry({ deploymentId });
});

test('newer secrets and a restart without server.write keep nothing open', async () => {
  await owner.config.update({ appId, settings: open });
  await goLive();
  const again = [
    (caller: Caller) => caller.deployment.deploySecrets({ appId }),
    (caller: Caller) => caller.deployment.restart({ appId }),
  ];
  const rollOut = async ({ deploymentId }: { deploymentId: string }) => {
    await api.world.advance(deploymentId);
    await api.world.finish(deploymentId);
  };
  for (const roll of again) await rollOut(await roll(developer));
  await owner.config.update({ appId, settings: { ...open, serverPorts: [] } });
  api.world.clock.forward(1000);
  for (const roll of again) {
    await expect(roll(developer)).rejects.toMatchObject(releaseClosed);
    await rollOut(await roll(owner));
  }
  // The narrow deployment runs, and no later one may use the settings that it replaces.
  const { deploymentId } = await owner.deployment.create({ appId });
  await api.world.advance(deploymentId);
  for (const roll of again) {
    await expect(roll(developer)).rejects.toMatchObject(releaseClosed);
    await expect(roll(owner)).rejects.toMatchObject(refusedBy('deployment.under_way'));
  }
  await api.world.finish(deploymentId);
  for (const roll of again) await rollOut(await roll(developer));
});

test('newer secrets and a restart of an open app ask for a fresh session', async () => {
  await owner.config.update({ appId, settings: open });
  await goLive();
  await owner.config.update({ appId, settings: closed });
  api.world.clock.forward(16 * 60_000);
  try {
    const stale = refusedBy('session.not_fresh');
    await expect(owner.deployment.deploySecrets({ appId })).rejects.toMatchObject(stale);
    await expect(owner.deployment.restart({ appId })).rejects.toMatchObject(stale);
  } finally {
    api.world.clock.forward(-16 * 60_000);
  }
});

test('an app with an open network comes to no other server without server.write', async () => {
  const attach = async (caller: Caller) => caller.app.attachServer({ appId, serverId: await newServer() });
  const addStaging = async (caller: Caller) =>
    caller.app.addEnvironment({
      appId,
      environment: { kind: 'existing', environmentId: staging },
      serverIds: [await newServer()],
      firstDeploy: 'none',
    });
  await attach(developer);
  await owner.config.update({ appId, settings: open });
  await expect(attach(developer)).rejects.toMatchObject(placementClosed);
  // A new environment takes the settings of the first one.
  await expect(addStaging(developer)).rejects.toMatchObject(placementClosed);
  await addStaging(owner);
  expect((await owner.config.get({ appId, environmentId: staging })).settings).toMatchObject(open);
});

test('for another server the live release counts too, not only the newest settings', async () => {
  await owner.config.update({ appId, settings: open });
  await goLive();
  await owner.config.update({ appId, settings: closed });
  const attach = async () => developer.app.attachServer({ appId, serverId: await newServer() });
  await expect(attach()).rejects.toMatchObject(placementClosed);
  await goLive();
  await attach();
});
