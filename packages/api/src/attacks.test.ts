// Attacks on permissions by members of the organization. Each is refused, and a positive control shows that the same call
// succeeds without the protection.
import { type AppId, newId, parseId } from '@fairlead/contract/ids';
import { permissionSchema } from '@fairlead/core/role';
import type { TokenPermission } from '@fairlead/core/token';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestApi, type TestApi } from './testing/index.ts';
import { testMembers } from './testing/members.ts';

let api: TestApi;
let production: ReturnType<typeof parseId<'env'>>;
let staging: ReturnType<typeof parseId<'env'>>;
let owner: ReturnType<TestApi['caller']>;
let ownerCookie: string;

beforeAll(async () => {
  api = await startTestApi();
  ownerCookie = (await api.signUp('Founder', 'owner')).cookie;
  owner = api.caller(ownerCookie);
  const [first] = (await owner.environment.list()).items;
  production = parseId('env', first?.id ?? '');
  api.world.clock.forward(1000);
  staging = (await owner.environment.create({ name: 'Staging' })).environmentId;
});
afterAll(() => api.close());

const { member, customRole, grant, memberOf } = testMembers(() => api);
const refusedBy = (text: string) => ({ message: expect.stringContaining(text) });
const denied = refusedBy('does not allow');
const isProtected = refusedBy('is protected');

const addStaging = (caller: typeof owner, appId: AppId) =>
  caller.app.addEnvironment({
    appId,
    environment: { kind: 'existing', environmentId: staging },
    serverIds: [api.world.serverId],
    firstDeploy: 'none',
  });

const withProtected = async (work: () => Promise<void>) => {
  await owner.environment.update({ environmentId: production, protected: true });
  try {
    await work();
  } finally {
    await owner.environment.update({ environmentId: production, protected: false });
  }
};

/** App in production and in staging, with a domain of production. */
async function shop(name: string) {
  const { appId } = await api.world.createApp(name, { deployNow: false });
  const host = `${name.toLowerCase()}.shop.test`;
  const { id } = await owner.domain.attach({ appId, host });
  await addStaging(owner, appId);
  return { appId, host, domainId: id };
}

async function domainsOf(host: string) {
  const { items } = await owner.domain.list({ search: host, limit: 100 });
  return items.filter((each) => each.host === host).map(({ id }) => id);
}

test('a developer cannot route a path of a protected host to staging', async () => {
  const { appId, host } = await shop('Paths');
  const { caller } = await member('developer');
  const attack = (pathPrefix: string) => caller.domain.attach({ appId, environmentId: staging, host, pathPrefix });
  await withProtected(async () => {
    await expect(attack('/checkout')).rejects.toMatchObject(isProtected);
    const elsewhere = { appId, environmentId: staging, host: `next.${host}` };
    expect(await caller.domain.attach(elsewhere)).toMatchObject({ host: elsewhere.host });
  });
  const { id, pathPrefix } = await attack('/checkout');
  expect(pathPrefix).toBe('/checkout');
  await caller.domain.detach({ domainId: id });
});

test('a path that a developer led to staging before its host has protection never joins it', async () => {
  const { appId, host } = await shop('Early');
  const { caller } = await member('developer');
  const early = { appId, environmentId: staging, host: `www.${host}`, pathPrefix: '/checkout' };
  const attack = await caller.domain.attach(early);
  const launch = () => owner.domain.attach({ appId, environmentId: production, host: early.host });
  await withProtected(async () => {
    await expect(launch()).rejects.toMatchObject(refusedBy('share a host name'));
    await owner.domain.detach({ domainId: attack.id });
    const { id } = await launch();
    // An approver cannot open it either: one approval would cover every later deployment to staging.
    await expect(owner.domain.attach(early)).rejects.toMatchObject(refusedBy('share a host name'));
    await owner.domain.detach({ domainId: id });
  });
  await caller.domain.attach(early);
  expect(await launch()).toMatchObject({ host: early.host });
  await expect(withProtected(() => Promise.resolve())).rejects.toMatchObject({
    ...refusedBy('share a host name'),
    cause: { published: { errorCode: 'environment.hosts_shared', details: { hosts: [early.host] } } },
  });
  for (const domainId of await domainsOf(early.host)) await owner.domain.detach({ domainId });
});

test('a host stays in one class while one of its environments loses protection', async () => {
  const { appId, host } = await shop('Late');
  const change = (isProtected: boolean) => owner.environment.update({ environmentId: staging, protected: isProtected });
  const shared = { appId, environmentId: staging, host, pathPrefix: '/checkout' };
  await withProtected(async () => {
    await change(true);
    const { id } = await owner.domain.attach(shared);
    await expect(change(false)).rejects.toMatchObject(refusedBy('share a host name'));
    await owner.domain.detach({ domainId: id });
    await change(false);
  });
});

test('a concurrent route and change of protection never split a host', async () => {
  const { appId, host } = await shop('Race');
  const outcomes = await Promise.allSettled([
    owner.environment.update({ environmentId: production, protected: true }),
    owner.domain.attach({ appId, environmentId: staging, host, pathPrefix: '/checkout' }),
  ]);
  expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  await owner.environment.update({ environmentId: production, protected: false });
  for (const domainId of await domainsOf(host)) await owner.domain.detach({ domainId });
});

test('a developer cannot change the pages, redirects or headers of a protected host, nor take it away', async () => {
  const { domainId, appId, host } = await shop('Pages');
  const { caller } = await member('developer');
  const { policy } = await caller.domain.get({ domainId });
  const redirect = { to: 'https://evil.test/' };
  const attacks = [
    () => caller.domain.updatePolicy({ domainId, policy: { ...policy, redirect } as never }),
    () => caller.domain.detach({ domainId }),
  ];
  await withProtected(async () => {
    // Its page is read-only by this.
    expect(await caller.domain.get({ domainId })).toMatchObject({
      environmentId: production,
      isEnvironmentProtected: true,
    });
    for (const attack of attacks) await expect(attack()).rejects.toMatchObject(isProtected);
    const approver = await member('deployer');
    await approver.caller.domain.updatePolicy({ domainId, policy } as never);
  });
  await caller.domain.detach({ domainId });
  expect(await caller.domain.attach({ appId, environmentId: staging, host })).toMatchObject({ host });
});

test('a grant on staging adds no app to it that its holder may not change in its primary environment', async () => {
  const { appId } = await api.world.createApp('Secretive', { deployNow: false });
  await owner.config.update({ appId, settings: { variables: { TOKEN: 'of production' } } });
  const { cookie, memberId } = await memberOf(staging, 'developer');
  const attack = () => addStaging(api.caller(cookie), appId);
  const caller = api.caller(cookie);
  await expect(attack()).rejects.toMatchObject(denied);
  await expect(caller.config.get({ appId, environmentId: staging })).rejects.toMatchObject(denied);
  await grant(memberId, await customRole(['app.write']), production);
  await attack();
  const { settings } = await api.caller(cookie).config.get({ appId, environmentId: staging });
  expect(settings.variables).toEqual({ TOKEN: { value: 'of production', scope: 'both' } });
});

test('a key that the procedure drops opens no list of volumes', async () => {
  const { appId, slug } = await api.world.createApp('Side', { deployNow: false });
  await addStaging(owner, appId);
  const { caller } = await memberOf(staging, 'developer');
  await expect(caller.volume.list({})).rejects.toMatchObject(denied);
  await expect(caller.volume.list({ slug, environmentId: staging } as never)).rejects.toMatchObject(denied);
  expect(await caller.volume.list({ appId, environmentId: staging })).toEqual({ items: [] });
  expect(await owner.volume.list({})).toEqual({ items: [] });
});

test('making an app deploys and takes a host only with the permissions for it, where it goes', async () => {
  const serverIds = [api.world.serverId];
  const source = { kind: 'git' as const, repositoryUrl: 'https://git.example.test/x.git' };
  const input = (name: string) => ({ name, serverIds, source });
  const tokenOf = async (permissions: readonly TokenPermission[]) => {
    const { token } = await owner.token.create({ name: newId('tok'), permissions: [...permissions], days: 1 } as never);
    return api.tokenCaller(token);
  };
  const writing = await tokenOf(['app.write']);
  await expect(writing.app.create(input('First'))).rejects.toMatchObject(denied);
  await expect(
    writing.app.create({ ...input('Second'), firstDeploy: 'none', domain: { host: 'second.shop.test' } }),
  ).rejects.toMatchObject(denied);
  expect((await writing.app.create({ ...input('Third'), firstDeploy: 'none' })).deploymentId).toBeNull();
  const all = await tokenOf(['app.write', 'deployment.write', 'domain.write']);
  const made = await all.app.create({ ...input('Fourth'), domain: { host: 'fourth.shop.test' } });
  expect(made.deploymentId).toMatch(/^dep_/);
  expect(permissionSchema.options).toContain('domain.write');
});

test('a deleted app of a protected environment is not purged by a member who may not approve there', async () => {
  const { appId } = await shop('Buried');
  const { caller } = await member(await customRole(['app.read', 'app.delete']));
  await owner.app.delete({ appId, confirmName: 'Buried' });
  const purge = () => caller.app.purge({ appId, confirmName: 'Buried' });
  await withProtected(async () => {
    await expect(purge()).rejects.toMatchObject(isProtected);
  });
  expect(await purge()).toMatchObject({ id: appId });
});

test('a host stays protected by each of its environments while the app of one is deleted', async () => {
  const [here, there] = [
    (await owner.environment.create({ name: 'Here', protected: true })).environmentId,
    (await owner.environment.create({ name: 'There', protected: true })).environmentId,
  ];
  const host = 'both.shop.test';
  const place = async (name: string, environmentId: typeof here, pathPrefix: string) => {
    const { appId } = await api.world.createApp(name, { deployNow: false });
    const environment = { kind: 'existing' as const, environmentId };
    await owner.app.addEnvironment({ appId, environment, serverIds: [api.world.serverId], firstDeploy: 'none' });
    return { appId, domainId: (await owner.domain.attach({ appId, environmentId, host, pathPrefix })).id };
  };
  const kept = await place('Kept', here, '/kept');
  const gone = await place('Gone', there, '/gone');
  const { caller } = await memberOf(here, 'deployer');
  const { policy } = await owner.domain.get({ domainId: kept.domainId });
  const change = () => caller.domain.updatePolicy({ domainId: kept.domainId, policy } as never);
  await expect(change()).rejects.toMatchObject(isProtected);
  await owner.app.delete({ appId: gone.appId, confirmName: 'Gone' });
  await expect(change()).rejects.toMatchObject(isProtected);
  await owner.app.purge({ appId: gone.appId, confirmName: 'Gone' });
  await change();
});

test('a shared group stays protected by an environment while its app there is deleted', async () => {
  const { appId } = await api.world.createApp('Sharing', { deployNow: false });
  const { environmentId } = await owner.environment.create({ name: 'Vault', protected: true });
  const environment = { kind: 'existing' as const, environmentId };
  await owner.app.addEnvironment({ appId, environment, serverIds: [api.world.serverId], firstDeploy: 'none' });
  const { groupId } = await owner.secret.createGroup({ name: 'shared' });
  await owner.secret.attachGroup({ groupId, appId });
  const set = (by: typeof owner) =>
    by.secret.update({ owner: { groupId }, items: [{ name: 'TOKEN', value: 'wide open' }] });
  await set(owner);
  const group = (await owner.secret.listGroups()).find(({ id }) => id === groupId);
  const secretId = parseId('sec', group?.secrets[0]?.id ?? '');
  const { caller } = await member(await customRole(['secret.read', 'secret.write']));
  const attacks = [
    () => set(caller),
    () => caller.secret.restore({ secretId, number: 1 }),
    () => caller.secret.delete({ secretId }),
    () => caller.secret.deleteGroup({ groupId }),
  ];
  for (const attack of attacks) await expect(attack()).rejects.toMatchObject(isProtected);
  await owner.app.delete({ appId, confirmName: 'Sharing' });
  for (const attack of attacks) await expect(attack()).rejects.toMatchObject(isProtected);
  await owner.app.purge({ appId, confirmName: 'Sharing' });
  for (const attack of attacks) await attack();
});
