// Permissions of app.create and app.addEnvironment: each part needs its own, and without it nothing is stored.
import { newId, parseId } from '@fairlead/contract/ids';
import type { Permission } from '@fairlead/core/role';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { startTestApi, type TestApi } from './testing/index.ts';

type Caller = ReturnType<TestApi['caller']>;
type NewApp = Parameters<Caller['app']['create']>[0];
type Addition = Parameters<Caller['app']['addEnvironment']>[0];

let api: TestApi;
let owner: Caller;
let production: ReturnType<typeof parseId<'env'>>;
let projectId: string;
let count = 0;
let people = 0;

beforeAll(async () => {
  api = await startTestApi();
  owner = api.caller((await api.signUp('Founder', 'owner')).cookie);
  const [first] = (await owner.environment.list()).items;
  production = parseId('env', first?.id ?? '');
  projectId = first?.projectId ?? '';
});
afterAll(() => api.close());
beforeEach(() => {
  count += 1;
});

interface Scope {
  readonly environmentId?: string;
  readonly projectId?: string;
}

/** Creates a member with these permissions in the organization, and with further ones in a scope. */
async function member(permissions: readonly Permission[], granted: readonly Permission[] = [], scope: Scope = {}) {
  const { organizationId } = api.world;
  const role = async (list: readonly Permission[]) => {
    const id = newId('rol');
    const data = { id, organizationId, name: id, permissions: [...list] };
    await api.world.system(({ tx }) => tx.customRole.create({ data }));
    return id;
  };
  const { cookie, userId } = await api.signUp(`Holder${++people}`, await role(permissions));
  if (granted.length > 0) {
    const grant = { id: newId('grt'), organizationId, role: await role(granted), ...scope };
    await api.world.system(async ({ tx }) => {
      const { id: memberId } = await tx.member.findFirstOrThrow({ where: { userId } });
      await tx.roleGrant.create({ data: { ...grant, memberId } });
    });
  }
  return api.caller(cookie);
}

async function newServer(): Promise<string> {
  const [id, { organizationId }] = [newId('srv'), api.world];
  const publicKey = Buffer.from(id.padEnd(32).slice(-32));
  await api.world.system(({ tx }) => tx.server.create({ data: { id, organizationId, name: id, publicKey } }));
  return id;
}

const refusedBy = (errorCode: string) => ({ cause: { published: { errorCode } } });
const denied = refusedBy('permission.denied');

const plain = (changes: Partial<NewApp> = {}): NewApp => ({
  name: `App ${count}`,
  source: { kind: 'git', repositoryUrl: 'https://git.example.test/shop.git' },
  serverIds: [api.world.serverId],
  firstDeploy: 'none',
  ...changes,
});
const password = { kind: 'https' as const, host: 'git.example.test', username: 'ada', password: 'hunter2' };
const stored = () =>
  api.world.system(async ({ tx }) => ({
    apps: await tx.app.count(),
    environments: await tx.environment.count(),
    placements: await tx.placement.count(),
    events: await tx.auditEvent.count(),
  }));

/** Checks that the call needs the permission, in the scope or the organization, and stores nothing without it. */
async function expectNeeds(
  base: readonly Permission[],
  permission: Permission,
  scope: Scope,
  run: (caller: Caller) => Promise<unknown>,
): Promise<void> {
  const before = await stored();
  await expect(run(await member(base)), `without ${permission}`).rejects.toMatchObject(denied);
  expect(await stored()).toEqual(before);
  await run(await member(base, [permission], scope));
}

test.each<[string, Permission, 'environment' | 'project', (host: string) => Partial<NewApp>]>([
  ['a first deployment', 'deployment.write', 'environment', () => ({ firstDeploy: 'deploy' })],
  ['a domain', 'domain.write', 'environment', (host) => ({ domain: { host } })],
  ['secrets', 'secret.write', 'environment', () => ({ secrets: [{ name: 'TOKEN', value: 'x' }] })],
  ['a password', 'secret.write', 'project', () => ({ credential: password })],
  ['a deploy key', 'secret.write', 'project', () => ({ credential: { kind: 'ssh' } })],
])('an app with %s needs %s in its %s', async (_part, permission, grain, changesOf) => {
  const changes = changesOf(`part-${count}.example.test`);
  const scope = grain === 'environment' ? { environmentId: production } : { projectId };
  await expectNeeds(['app.write'], permission, scope, (caller) => caller.app.create(plain(changes)));
});

test('a credential needs its permission in the whole project, not only in one environment', async () => {
  const narrow = await member(['app.write'], ['secret.write'], { environmentId: production });
  await expect(narrow.app.create(plain({ credential: password }))).rejects.toMatchObject(denied);
});

test('settings and several servers need the permission to write apps only, in the whole organization', async () => {
  const settings = { releasesKept: 7 };
  const serverIds = [api.world.serverId, await newServer()];
  const narrow = await member([], ['app.write'], { projectId });
  await expect(narrow.app.create(plain({ settings, serverIds }))).rejects.toMatchObject(denied);
  await (await member(['app.write'])).app.create(plain({ settings, serverIds }));
});

test('an open network needs server.write and a fresh session', async () => {
  const open = () => plain({ settings: { serverPorts: ['5432'] } });
  const developer = await member(['app.write']);
  await expect(developer.app.create(open())).rejects.toMatchObject(refusedBy('config.network_closed'));
  await withOldSession(async () => {
    await expect(owner.app.create(open())).rejects.toMatchObject(refusedBy('session.not_fresh'));
  });
  await owner.app.create(open());
});

test('a credential needs a fresh session, and a token passes', async () => {
  const { token } = await owner.token.create({ name: newId('tok'), permissions: ['app.write', 'secret.write'] });
  const input = plain({ credential: { kind: 'ssh' } });
  await withOldSession(async () => {
    const before = await stored();
    await expect(owner.app.create(input)).rejects.toMatchObject(refusedBy('session.not_fresh'));
    expect(await stored()).toEqual(before);
    expect((await api.tokenCaller(token).app.create(input)).publicKey).toMatch(/^ssh-ed25519 /);
  });
});

async function withOldSession(work: () => Promise<void>): Promise<void> {
  api.world.clock.forward(16 * 60_000);
  try {
    await work();
  } finally {
    api.world.clock.forward(-16 * 60_000);
  }
}

test('in a protected environment the first deployment waits, and every other part needs its approver', async () => {
  const caller = await member([
    'app.write',
    'app.read',
    'deployment.write',
    'deployment.read',
    'domain.write',
    'secret.write',
  ]);
  const approver = await member(['app.write', 'domain.write', 'secret.write', 'deployment.approve']);
  const serverIds = [api.world.serverId, await newServer()];
  await owner.environment.update({ environmentId: production, protected: true });
  try {
    const { deploymentId } = await caller.app.create(plain({ firstDeploy: 'deploy' }));
    const deployment = await caller.deployment.get({ deploymentId: parseId('dep', deploymentId ?? '') });
    expect(deployment.waiting).toMatchObject({ reason: 'approval' });
    const parts: Partial<NewApp>[] = [
      { domain: { host: 'guarded.example.test' } },
      { settings: { releasesKept: 7 } },
      { source: { kind: 'image', image: 'registry.example.test/shop:2' } },
      { secrets: [{ name: 'TOKEN', value: 'x' }] },
      { credential: password },
      { serverIds },
    ];
    for (const [index, part] of parts.entries()) {
      const input = plain({ ...part, name: `Guarded ${index}` });
      await expect(caller.app.create(input)).rejects.toMatchObject(refusedBy('environment.protected'));
      await approver.app.create(input);
    }
  } finally {
    await owner.environment.update({ environmentId: production, protected: false });
  }
});

async function addition(changes: Partial<Addition> = {}): Promise<Addition> {
  const { appId } = await api.world.createApp(`Shop ${++count}`, { deployNow: false });
  const { environmentId } = await owner.environment.create({ name: `Stage ${count}` });
  const environment = { kind: 'existing' as const, environmentId };
  return { appId, environment, serverIds: [api.world.serverId], firstDeploy: 'none', ...changes };
}
const targetOf = ({ environment }: Addition) => (environment.kind === 'existing' ? environment.environmentId : '');

test.each<[string, Permission, () => Partial<Addition>]>([
  ['a first deployment', 'deployment.write', () => ({ firstDeploy: 'deploy' })],
  ['a domain', 'domain.write', () => ({ domain: { host: `next-${count}.example.test` } })],
])('a further environment with %s needs %s there', async (_part, permission, changes) => {
  const input = await addition(changes());
  await expectNeeds(['app.write'], permission, { environmentId: targetOf(input) }, (caller) =>
    caller.app.addEnvironment(input),
  );
});

test('a new environment needs environment.write, and an approver if it is protected', async () => {
  const input = await addition({ environment: { kind: 'new', name: `Fresh ${count}` } });
  await expect((await member(['app.write'])).app.addEnvironment(input)).rejects.toMatchObject(denied);
  const inProject = await member(['app.write'], ['environment.write'], { projectId });
  await expect(inProject.app.addEnvironment(input)).rejects.toMatchObject(denied);
  const caller = await member(['app.write', 'environment.write']);
  await caller.app.addEnvironment(input);
  const guarded = await addition({ environment: { kind: 'new', name: `Guarded ${count}`, protected: true } });
  const before = await stored();
  await expect(caller.app.addEnvironment(guarded)).rejects.toMatchObject(refusedBy('environment.protected'));
  expect(await stored()).toEqual(before);
  await (await member(['app.write', 'environment.write', 'deployment.approve'])).app.addEnvironment(guarded);
});

test('only an approver adds an app to a protected environment', async () => {
  const input = await addition();
  const environmentId = parseId('env', targetOf(input));
  await owner.environment.update({ environmentId, protected: true });
  const developer = await member(['app.write']);
  await expect(developer.app.addEnvironment(input)).rejects.toMatchObject(refusedBy('environment.protected'));
  await (await member(['app.write', 'deployment.approve'])).app.addEnvironment(input);
});

test('attachServer adds no environment to an app', async () => {
  const { appId, serverIds, ...rest } = await addition();
  const environmentId = parseId('env', targetOf({ appId, serverIds, ...rest }));
  const attach = () => owner.app.attachServer({ appId, environmentId, serverId: serverIds[0] ?? '' });
  await expect(attach()).rejects.toMatchObject(refusedBy('app.not_found'));
});
