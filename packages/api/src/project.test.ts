// End-to-end tests of projects: access by a grant or a token of one project, and the move of an app.
import { type EnvironmentId, newId, type ProjectId, parseId } from '@fairlead/contract/ids';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { startTestApi, type TestApi } from './testing/index.ts';

let api: TestApi;
let owner: ReturnType<TestApi['caller']>;
let shop: { projectId: ProjectId; production: EnvironmentId };
let desk: { projectId: ProjectId; production: EnvironmentId };
let count = 0;
const repositoryUrl = 'https://git.example.test/shop.git';

beforeAll(async () => {
  api = await startTestApi();
  owner = api.caller((await api.signUp('Owner', 'owner')).cookie);
});
afterAll(() => api.close());
beforeEach(async () => {
  count += 1;
  shop = await newProject(`Shop ${count}`);
  desk = await newProject(`Desk ${count}`);
});

async function newProject(name: string) {
  const { projectId } = await owner.project.create({ name });
  const production = (await owner.project.list()).items.find(({ id }) => id === projectId)?.environments[0]?.id;
  if (production === undefined) throw new Error('an environment was expected');
  return { projectId, production };
}

const newApp = async (name: string, environmentId: EnvironmentId, changes: object = {}) => {
  const source = { kind: 'git' as const, repositoryUrl };
  const input = { name: `${name} ${count}`, source, environmentId, serverIds: [api.world.serverId] };
  return owner.app.create({ ...input, firstDeploy: 'none', ...changes });
};

const codeOf = (call: Promise<unknown>) =>
  call.then(
    () => 'done',
    (error: { cause?: { published?: { errorCode: string } } }) => error.cause?.published?.errorCode,
  );

type Place = { readonly projectId: ProjectId } | { readonly environmentId: EnvironmentId };

/** Creates a member who holds nothing but these roles. Each call returns their next request. */
async function granted(...grants: readonly (readonly [role: string, place: Place])[]) {
  const { organizationId } = api.world;
  const nothing = newId('rol');
  const name = `Guest${newId('usr').slice(4, 12)}`;
  await api.world.system(({ tx }) =>
    tx.customRole.create({ data: { id: nothing, organizationId, name, permissions: [] } }),
  );
  const { cookie } = await api.signUp(name, nothing);
  for (const [role, place] of grants) {
    await api.world.system(({ tx }) =>
      tx.roleGrant.create({ data: { id: newId('grt'), organizationId, memberId: `mem_${name}`, role, ...place } }),
    );
  }
  return () => api.caller(cookie);
}

const tokenOf = async (place: Place, permissions: ('app.read' | 'app.write' | 'deployment.read')[]) => {
  const { token } = await owner.token.create({ name: 'CI', permissions, ...place });
  return () => api.tokenCaller(token);
};

const moveTo = (to: typeof shop, appId: string, from: EnvironmentId) => ({
  appId: parseId('app', appId),
  projectId: to.projectId,
  environments: [{ from, to: to.production }],
});

test('a member with a grant on one project sees and does only that', async () => {
  const cart = await newApp('Cart', shop.production, {
    domain: { host: `cart-${count}.example.test` },
    firstDeploy: 'deploy',
  });
  const agenda = await newApp('Agenda', desk.production, {
    domain: { host: `agenda-${count}.example.test` },
    firstDeploy: 'deploy',
  });
  const { groupId } = await owner.secret.createGroup({ name: 'theirs', projectId: desk.projectId });
  const member = await granted(['developer', { projectId: shop.projectId }]);

  expect((await member().project.list()).items).toMatchObject([{ id: shop.projectId, appCount: 1 }]);
  expect((await member().app.list({})).items.map(({ id }) => id)).toEqual([cart.id]);
  expect((await member().app.list({ projectId: desk.projectId })).items).toEqual([]);
  expect((await member().environment.list()).items.map(({ id }) => id)).toEqual([shop.production]);
  expect((await member().deployment.list({})).items.map(({ appId }) => appId)).toEqual([cart.id]);
  expect((await member().domain.list({})).items.map(({ host }) => host)).toEqual([`cart-${count}.example.test`]);
  expect(await member().secret.listGroups()).toEqual([]);
  expect(await member().overview.get({})).toMatchObject({ appCount: 1, servers: [] });
  expect(await member().overview.get({ projectId: desk.projectId })).toMatchObject({ appCount: 0 });

  expect(await codeOf(member().app.update({ appId: cart.id, branch: 'next' }))).toBe('done');
  for (const call of [
    () => member().app.get({ slug: agenda.slug }),
    () => member().app.update({ appId: agenda.id, branch: 'next' }),
    () => member().deployment.create({ appId: agenda.id }),
    () => member().secret.attachGroup({ groupId, appId: agenda.id }),
    () => member().project.update({ projectId: shop.projectId, name: 'Mine' }),
    () => member().project.create({ name: 'Mine' }),
    () => member().app.getMove({ appId: cart.id }),
    () => member().app.move(moveTo(desk, cart.id, shop.production)),
  ]) {
    expect(await codeOf(call())).toBe('permission.denied');
  }
});

test('an admin of one project renames and deletes it, and no other', async () => {
  const admin = await granted(['admin', { projectId: shop.projectId }]);
  expect(await codeOf(admin().project.update({ projectId: shop.projectId, name: `Store ${count}` }))).toBe('done');
  expect(await admin().project.get({ projectId: shop.projectId })).toMatchObject({ grantCount: 1, isOnly: false });
  expect(await codeOf(admin().project.get({ projectId: desk.projectId }))).toBe('permission.denied');
  const other = { projectId: desk.projectId, confirmName: `Desk ${count}` };
  expect(await codeOf(admin().project.delete(other))).toBe('permission.denied');
  const own = { projectId: shop.projectId, confirmName: `Store ${count}` };
  expect(await codeOf(admin().project.delete(own))).toBe('done');
  // The deletion revoked their grant.
  expect(await codeOf(admin().project.list())).toBe('permission.denied');
});

test('a token of one project opens that project and ends with it', async () => {
  const cart = await newApp('Cart', shop.production);
  const agenda = await newApp('Agenda', desk.production);
  const ofProject = await tokenOf({ projectId: shop.projectId }, ['app.read', 'app.write']);
  expect((await ofProject().project.list()).items.map(({ id }) => id)).toEqual([shop.projectId]);
  expect((await ofProject().app.list({})).items.map(({ id }) => id)).toEqual([cart.id]);
  expect(await codeOf(ofProject().app.update({ appId: cart.id, branch: 'next' }))).toBe('done');
  expect(await codeOf(ofProject().app.update({ appId: agenda.id, branch: 'next' }))).toBe('permission.denied');
  expect(await codeOf(ofProject().app.get({ slug: agenda.slug }))).toBe('permission.denied');
  // Only a person changes the project of an app, because it decides who sees the app.
  expect(await codeOf(ofProject().project.create({ name: 'Mine' }))).toBe('permission.denied');

  await owner.app.move(moveTo(desk, cart.id, shop.production));
  expect((await ofProject().app.list({})).items).toEqual([]);
  await owner.project.delete({ projectId: shop.projectId, confirmName: `Shop ${count}` });
  expect(await codeOf(ofProject().app.list({}))).toBe('token.invalid');
});

test('a moved app belongs to the new project at once, with its secrets, domains and history', async () => {
  const host = `cart-${count}.example.test`;
  const cart = await newApp('Cart', shop.production, { domain: { host }, firstDeploy: 'deploy' });
  await api.world.advance(cart.deploymentId ?? '');
  await api.world.finish(cart.deploymentId ?? '');
  await owner.secret.update({ owner: { appId: cart.id }, items: [{ name: 'KEY', value: 'x', sealed: false }] });
  const before = await granted(['admin', { projectId: shop.projectId }]);
  const beforeThere = await granted(['deployer', { environmentId: shop.production }]);
  const after = await granted(['admin', { projectId: desk.projectId }]);
  const afterThere = await granted(['deployer', { environmentId: desk.production }]);
  const token = await tokenOf({ environmentId: shop.production }, ['app.read', 'deployment.read']);
  const newToken = await tokenOf({ projectId: desk.projectId }, ['app.read', 'deployment.read']);
  const { secrets } = await before().secret.list({ appId: cart.id });
  const secretId = secrets[0]?.id ?? parseId('sec', '');
  const calls = (caller: typeof before) => [
    codeOf(caller().app.get({ slug: cart.slug })),
    codeOf(caller().deployment.get({ deploymentId: cart.deploymentId ?? parseId('dep', '') })),
  ];
  const ofPeople = (caller: typeof before) => [
    ...calls(caller),
    codeOf(caller().secret.list({ appId: cart.id })),
    codeOf(caller().metric.app({ appId: cart.id, range: '1h' })),
    codeOf(caller().app.scale({ appId: cart.id, instances: 2 })),
  ];
  const outcomes = async (all: Promise<unknown>[]) => [...new Set(await Promise.all(all))];
  for (const caller of [before, beforeThere]) expect(await outcomes(ofPeople(caller))).toEqual(['done']);
  for (const caller of [after, afterThere]) expect(await outcomes(ofPeople(caller))).toEqual(['permission.denied']);

  await owner.app.move(moveTo(desk, cart.id, shop.production));
  for (const caller of [before, beforeThere]) {
    expect(await outcomes(ofPeople(caller))).toEqual(['permission.denied']);
    expect(await caller().overview.get({})).toMatchObject({ appCount: 0 });
    expect((await caller().domain.list({})).items).toEqual([]);
  }
  for (const caller of [after, afterThere]) {
    expect(await outcomes(ofPeople(caller))).toEqual(['done']);
    expect((await caller().domain.list({})).items.map((domain) => domain.host)).toEqual([host]);
    expect((await caller().app.list({ projectId: desk.projectId })).items.map(({ id }) => id)).toEqual([cart.id]);
    expect((await caller().app.list({ projectId: shop.projectId })).items).toEqual([]);
  }
  expect(await outcomes(calls(token))).toEqual(['permission.denied']);
  expect(await outcomes(calls(newToken))).toEqual(['done']);
  expect(await codeOf(before().secret.reveal({ secretId, number: 1 }))).toBe('permission.denied');
  expect((await after().secret.reveal({ secretId, number: 1 })).value).toBe('x');
});

test('an open page of a moved app gets no more data', async () => {
  const cart = await newApp('Cart', shop.production);
  const member = await granted(['viewer', { projectId: shop.projectId }]);
  const stream = (await member().live.watch({ topics: [{ kind: 'app', id: cart.id }] }))[Symbol.asyncIterator]();
  const listening = Promise.withResolvers<void>();
  api.live.onSubscribe = () => listening.resolve();
  const sampleIn = (environmentId: EnvironmentId) => {
    const counts = { requestsPerSecond: 1, errorsPerSecond: 0, clientErrorsPerSecond: 0, inFlight: 0 };
    const sizes = { bytesReceivedPerSecond: 0, bytesSentPerSecond: 0, cpuMillis: 0, memoryBytes: 0 };
    const { serverId } = api.world;
    api.live.push({
      type: 'app.sample',
      appId: cart.id,
      environmentId,
      serverId,
      unixMs: 1,
      latency: [],
      ...counts,
      ...sizes,
    });
  };
  const first = stream.next();
  await listening.promise;
  api.live.onSubscribe = null;
  sampleIn(shop.production);
  expect((await first).value).toMatchObject({ type: 'app.sample', environmentId: shop.production });
  await owner.app.move(moveTo(desk, cart.id, shop.production));
  sampleIn(desk.production);
  expect(await codeOf(stream.next())).toBe('permission.denied');
});

test('a move needs permissions in both projects and a fresh session, and grants no new ones', async () => {
  const cart = await newApp('Cart', shop.production);
  const move = moveTo(desk, cart.id, shop.production);
  const at = { source: { projectId: shop.projectId }, target: { projectId: desk.projectId } };
  expect(await codeOf((await granted(['admin', at.source]))().app.move(move))).toBe('permission.denied');
  expect(await codeOf((await granted(['admin', at.target]))().app.move(move))).toBe('permission.denied');
  const mixed = await granted(['admin', at.source], ['developer', at.target]);
  expect(await codeOf(mixed().app.move(move))).toBe('permission.denied');

  const moving = newId('rol');
  const { organizationId } = api.world;
  const permissions = ['project.write', 'app.delete'];
  await api.world.system(({ tx }) =>
    tx.customRole.create({ data: { id: moving, organizationId, name: `Mover ${count}`, permissions } }),
  );
  const gaining = await granted([moving, at.source], ['admin', at.target]);
  expect(await codeOf(gaining().app.move(move))).toBe('app.move_beyond_own');
  const both = await granted(['admin', at.source], ['admin', at.target]);
  api.world.clock.forward(16 * 60_000);
  expect(await codeOf(both().app.move(move))).toBe('session.not_fresh');
  api.world.clock.forward(-16 * 60_000);
  expect(await codeOf(both().app.move(move))).toBe('done');
});

test('a move into or out of a protected environment needs an approver of both', async () => {
  const cart = await newApp('Cart', shop.production);
  const role = newId('rol');
  const { organizationId } = api.world;
  const { builtIn } = await owner.role.list();
  const permissions = (builtIn.find((each) => each.role === 'admin')?.permissions ?? []).filter(
    (permission) => permission !== 'deployment.approve',
  );
  await api.world.system(({ tx }) =>
    tx.customRole.create({ data: { id: role, organizationId, name: `No approver ${count}`, permissions } }),
  );
  const both = [
    [role, { projectId: shop.projectId }],
    [role, { projectId: desk.projectId }],
  ] as const;
  const mover = await granted(...both);
  for (const environmentId of [shop.production, desk.production]) {
    await owner.environment.update({ environmentId, protected: true });
    expect(await codeOf(mover().app.move(moveTo(desk, cart.id, shop.production)))).toBe('environment.protected');
    await owner.environment.update({ environmentId, protected: false });
  }
  await owner.environment.update({ environmentId: desk.production, protected: true });
  expect(await codeOf(mover().project.delete({ projectId: desk.projectId, confirmName: `Desk ${count}` }))).toBe(
    'environment.protected',
  );
  expect(await codeOf(owner.app.move(moveTo(desk, cart.id, shop.production)))).toBe('done');
});

test('secrets that an app left in a protected environment move only with an approver', async () => {
  const cart = await newApp('Leaver', shop.production);
  const made = (projectId: ProjectId, name: string, isProtected: boolean) =>
    owner.environment.create({ projectId, name: `${name} ${count}`, protected: isProtected });
  const { environmentId: left } = await made(shop.projectId, 'Left', true);
  const { environmentId: spare } = await made(desk.projectId, 'Spare', false);
  const there = { appId: cart.id, environmentId: left };
  const serverIds = [api.world.serverId];
  await owner.app.addEnvironment({
    appId: cart.id,
    environment: { kind: 'existing', environmentId: left },
    serverIds,
    firstDeploy: 'none',
  });
  await owner.secret.update({ owner: there, items: [{ name: 'KEY', value: 'x' }] });
  await owner.app.detachEnvironment({ ...there, confirmName: `Leaver ${count}` });
  const role = newId('rol');
  const { organizationId } = api.world;
  const { builtIn } = await owner.role.list();
  const permissions = (builtIn.find((each) => each.role === 'admin')?.permissions ?? []).filter(
    (permission) => permission !== 'deployment.approve',
  );
  await api.world.system(({ tx }) =>
    tx.customRole.create({ data: { id: role, organizationId, name: `Left over ${count}`, permissions } }),
  );
  const mover = await granted([role, { projectId: shop.projectId }], [role, { projectId: desk.projectId }]);
  const move = moveTo(desk, cart.id, shop.production);
  const whole = { ...move, environments: [...move.environments, { from: left, to: spare }] };
  expect(await codeOf(mover().app.move(whole))).toBe('environment.protected');
  expect(await codeOf(owner.app.move(whole))).toBe('done');
});
