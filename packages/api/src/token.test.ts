// Tests for API tokens: their permissions, and the calls that they never open.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestApi, type TestApi } from './testing/index.ts';

let api: TestApi;
let owner: { cookie: string; userId: string };
let developer: { cookie: string; userId: string };

beforeAll(async () => {
  api = await startTestApi();
  owner = await api.signUp('Owner', 'owner');
  developer = await api.signUp('Dev', 'developer');
});
afterAll(() => api.close());

const codeOf = (call: Promise<unknown>) =>
  call.then(
    () => 'done',
    (error: { cause?: { published?: { errorCode: string } } }) => error.cause?.published?.errorCode,
  );
const dayMs = 24 * 60 * 60 * 1000;
type NewToken = Parameters<ReturnType<TestApi['caller']>['token']['create']>[0];
const mint = (changes: Partial<NewToken> = {}, cookie = owner.cookie) =>
  api.caller(cookie).token.create({ name: 'CI', permissions: ['app.read', 'app.write'], ...changes });
const newApp = (name: string) => ({
  name,
  source: { kind: 'git' as const, repositoryUrl: 'https://git.example.test/shop.git' },
  serverIds: [api.world.serverId],
});

test('it does its job in its organization, and the log names it', async () => {
  const { token, id } = await mint();
  const made = await api.tokenCaller(token).app.create({ ...newApp('By token'), firstDeploy: 'none' });
  expect((await api.tokenCaller(token).app.list({})).items.map(({ name }) => name)).toContain('By token');
  const { items } = await api.caller(owner.cookie).audit.list({ targetId: made.id });
  expect(items).toMatchObject([{ action: 'app.create', actor: { kind: 'token', id, name: 'CI' } }]);
  const ofPerson = await api.caller(owner.cookie).audit.list({ actorId: owner.userId, action: 'app' });
  expect(ofPerson.items.map(({ actor }) => actor.id)).toContain(id);
});

test('it does nothing beyond its permissions, although its person may', async () => {
  const { token } = await mint({ permissions: ['app.read'] });
  const caller = api.tokenCaller(token);
  expect(await codeOf(caller.server.list())).toBe('permission.denied');
  expect(await codeOf(caller.app.create(newApp('No')))).toBe('permission.denied');
  expect(await codeOf(api.caller(owner.cookie).server.list())).toBe('done');
});

test('creating one requires a fresh session, for a service account too', async () => {
  const { serviceAccountId } = await api.caller(owner.cookie).serviceAccount.create({ name: 'Weekly', role: 'viewer' });
  const token = { serviceAccountId, name: 'Main', permissions: ['app.read' as const] };
  const createBoth = async () => [
    await codeOf(mint()),
    await codeOf(api.caller(owner.cookie).serviceAccount.createToken(token)),
  ];
  api.world.clock.forward(16 * 60_000);
  expect(await createBoth()).toEqual(['session.not_fresh', 'session.not_fresh']);
  api.world.clock.forward(-16 * 60_000);
  expect(await createBoth()).toEqual(['done', 'done']);
});

test('a manager of members sees and revokes all tokens of this organization, and it is audited', async () => {
  const { token, id } = await mint({ name: 'Leaked' }, developer.cookie);
  const admin = await api.signUp('Admin', 'admin');
  const { items } = await api.caller(admin.cookie).member.listTokens();
  const leaked = items.find((each) => each.id === id);
  expect(leaked).toMatchObject({ name: 'Leaked', owner: { name: 'Dev', email: 'dev@example.test', isMember: true } });
  expect(JSON.stringify(items)).not.toContain(token.slice(4, -4));
  expect(items.every(({ serviceAccountId }) => serviceAccountId === null)).toBe(true);
  expect(await codeOf(api.caller(developer.cookie).member.listTokens())).toBe('permission.denied');
  expect(await codeOf(api.caller(developer.cookie).member.revokeToken({ tokenId: id }))).toBe('permission.denied');

  await api.caller(admin.cookie).member.revokeToken({ tokenId: id });
  expect(await codeOf(api.tokenCaller(token).app.list({}))).toBe('token.invalid');
  expect(await codeOf(api.caller(admin.cookie).member.revokeToken({ tokenId: id }))).toBe('token.not_found');
  const events = await api.caller(owner.cookie).audit.list({ targetId: id, action: 'token' });
  expect(events.items[0]).toMatchObject({
    action: 'token.revoke',
    actor: { name: 'Admin' },
    target: { label: 'Leaked of dev@example.test' },
  });
});

test('it is no session: accounts, tokens and service accounts are closed to it', async () => {
  const { token } = await mint();
  const caller = api.tokenCaller(token, { cookie: owner.cookie });
  expect(await codeOf(caller.session.me())).toBe('token.person_only');
  expect(await codeOf(caller.token.list())).toBe('permission.denied');
  expect(await codeOf(caller.token.create({ name: 'More', permissions: ['app.read'] }))).toBe('permission.denied');
  expect(await codeOf(caller.serviceAccount.create({ name: 'More', role: 'viewer' }))).toBe('permission.denied');
});

test('with a wrong token no cookie counts', async () => {
  for (const token of ['', 'flt_', 'x', `flt_${'0'.repeat(49)}`, (await mint()).token.replace(/.$/, '-')]) {
    expect(await codeOf(api.tokenCaller(token, { cookie: owner.cookie }).app.list({})), token).toBe('token.invalid');
  }
  const basic = api.caller(owner.cookie, api.world.organizationSlug, { authorization: 'Basic b3duZXI6cGFzcw==' });
  expect(await codeOf(basic.app.list({}))).toBe('token.invalid');
});

test('it is stored as a hash only and answered once', async () => {
  const { token, id } = await mint();
  const stored = await api.world.system(async ({ tx }) => [
    await tx.apiToken.findMany(),
    await tx.auditEvent.findMany(),
  ]);
  const shown = await api.caller(owner.cookie).token.list();
  for (const place of [stored, shown, api.errors]) expect(JSON.stringify(place)).not.toContain(token);
  expect(JSON.stringify(shown)).not.toContain('hash');
  expect(shown.items.find((each) => each.id === id)?.hint).toBe(token.slice(-4));
});

test('it ends when it is revoked, and at its time', async () => {
  const { token, id } = await mint();
  expect(await codeOf(api.caller(developer.cookie).token.revoke({ tokenId: id }))).toBe('token.not_found');
  await api.caller(owner.cookie).token.revoke({ tokenId: id });
  expect(await codeOf(api.tokenCaller(token).app.list({}))).toBe('token.invalid');
  expect(await codeOf(api.caller(owner.cookie).token.revoke({ tokenId: id }))).toBe('token.not_found');

  const short = await mint({ lifetimeDays: 1 });
  api.world.clock.forward(dayMs - 1);
  expect(await codeOf(api.tokenCaller(short.token).app.list({}))).toBe('done');
  api.world.clock.forward(1);
  expect(await codeOf(api.tokenCaller(short.token).app.list({}))).toBe('token.invalid');
  // The creator of the tokens in the tests below has a fresh session again.
  api.world.clock.forward(-dayMs);
});

test('it follows its person: fewer rights, then none', async () => {
  const person = await api.signUp('Falling', 'developer');
  const { token } = await mint({}, person.cookie);
  const setRole = (role: string) =>
    api.world.system(({ tx }) => tx.member.updateMany({ where: { userId: person.userId }, data: { role } }));
  const write = () => api.tokenCaller(token).app.create(newApp('X'));
  await setRole('viewer');
  expect(await codeOf(write())).toBe('permission.denied');
  expect(await codeOf(api.tokenCaller(token).app.list({}))).toBe('done');
  await api.world.system(({ tx }) => tx.member.deleteMany({ where: { userId: person.userId } }));
  expect(await codeOf(api.tokenCaller(token).app.list({}))).toBe('token.invalid');
});

test('none has more permissions than its maker, and some no token may have', async () => {
  expect(await codeOf(mint({ permissions: ['server.delete'] }, developer.cookie))).toBe('token.beyond_own');
  for (const permission of ['secret.reveal', 'token.write', 'deployment.approve', 'role.write']) {
    expect(await codeOf(mint({ permissions: [permission] as never }))).toBe('input.invalid');
  }
});

test('its maker sees the permissions that they may give it', async () => {
  const { grantable } = await api.caller(developer.cookie).token.list();
  expect(grantable).toContain('app.write');
  for (const permission of ['server.delete', 'token.write', 'secret.reveal']) {
    expect(grantable).not.toContain(permission);
  }
});

test('it opens its own organization only', async () => {
  const { token } = await mint();
  const elsewhere = api.caller(undefined, 'rival', { authorization: `Bearer ${token}` });
  expect(await codeOf(elsewhere.app.list({}))).toBe('organization.not_found');
});

test('with an address range it works only from there, by a trusted proxy’s header', async () => {
  const { token } = await mint({ ipRanges: ['203.0.113.0/24', '2001:db8::/32'] });
  const from = (forwarded?: string) =>
    codeOf(
      api
        .tokenCaller(token, forwarded === undefined ? {} : { 'x-forwarded-for': `${forwarded}, 10.0.0.1` })
        .app.list({}),
    );
  expect(await from('203.0.113.77')).toBe('done');
  expect(await from('2001:db8::1')).toBe('done');
  expect(await from('203.0.114.77')).toBe('token.address_refused');
  expect(await from('203.0.113.77, 198.51.100.4')).toBe('token.address_refused');
  expect(await from()).toBe('token.address_refused');
  expect(await codeOf(mint({ ipRanges: ['everywhere'] }))).toBe('input.invalid');
});

test('when it was used last is written once a minute', async () => {
  const { token, id } = await mint();
  const lastUsed = async () =>
    (await api.caller(owner.cookie).token.list()).items.find((each) => each.id === id)?.lastUsedAt?.getTime();
  expect(await lastUsed()).toBeUndefined();
  const first = api.world.clock.now().getTime();
  await api.tokenCaller(token).app.list({});
  api.world.clock.forward(59_000);
  await api.tokenCaller(token).app.list({});
  expect(await lastUsed()).toBe(first);
  api.world.clock.forward(1000);
  await api.tokenCaller(token).app.list({});
  expect(await lastUsed()).toBe(first + 60_000);
});

test('one for a project opens nothing of another', async () => {
  const { appId, slug } = await api.world.createApp('Inside');
  const [here] = (await api.caller(owner.cookie).environment.list()).items;
  if (here === undefined) throw new Error('an environment was expected');
  const other = await api.world.system(async ({ tx }) => {
    const { organizationId } = api.world;
    const project = { id: 'prj_other', organizationId, name: 'Other', slug: 'other' };
    await tx.project.create({ data: project });
    return tx.environment.create({
      data: { id: 'env_other', organizationId, projectId: project.id, name: 'Production', slug: 'production' },
    });
  });
  const permissions = ['app.read', 'app.write'] as const;
  const inside = await mint({ permissions: [...permissions], projectId: here.projectId });
  const outside = await mint({ permissions: [...permissions], projectId: other.projectId as typeof here.projectId });
  expect(await codeOf(api.tokenCaller(inside.token).app.get({ slug }))).toBe('done');
  expect(await codeOf(api.tokenCaller(inside.token).app.update({ appId, healthPath: '/up' }))).toBe('done');
  expect(await codeOf(api.tokenCaller(outside.token).app.get({ slug }))).toBe('permission.denied');
  expect(await codeOf(api.tokenCaller(outside.token).app.update({ appId, healthPath: '/x' }))).toBe(
    'permission.denied',
  );
  expect(await codeOf(mint({ projectId: 'prj_foreign' as typeof here.projectId }))).toBe('environment.not_found');
});

describe('a service account', () => {
  const accounts = () => api.caller(owner.cookie).serviceAccount;

  test('acts by its role and its token, and ends with both', async () => {
    const account = await accounts().create({ name: 'Pipeline', role: 'deployer' });
    const made = await accounts().createToken({
      ...account,
      name: 'Main',
      permissions: ['app.read', 'deployment.write'],
    });
    const caller = api.tokenCaller(made.token);
    const { appId } = await api.world.createApp('Deployed by CI');
    const { deploymentId } = await caller.deployment.create({ appId });
    const { items } = await api.caller(owner.cookie).audit.list({ targetId: deploymentId });
    expect(items[0]).toMatchObject({ actor: { kind: 'token', id: made.id, name: 'Main' } });
    expect((await accounts().list()).items[0]?.tokens[0]).toMatchObject({ id: made.id, hint: made.token.slice(-4) });

    await accounts().update({ ...account, role: 'viewer' });
    expect(await codeOf(caller.app.list({}))).toBe('done');
    expect(await codeOf(api.tokenCaller(made.token).deployment.create({ appId }))).toBe('permission.denied');
    expect(await codeOf(accounts().delete({ ...account, confirmName: 'other' }))).toBe(
      'service_account.confirm_mismatch',
    );
    await accounts().delete({ ...account, confirmName: 'Pipeline' });
    expect(await codeOf(api.tokenCaller(made.token).app.list({}))).toBe('token.invalid');
  });

  test('has at most its role, never an owner’s, and is made by managers of members', async () => {
    const account = await accounts().create({ name: 'Reader', role: 'viewer' });
    const beyond = { ...account, name: 'Main', permissions: ['app.write' as const] };
    expect(await codeOf(accounts().createToken(beyond))).toBe('token.beyond_own');
    expect(await codeOf(accounts().create({ name: 'King', role: 'owner' as never }))).toBe('input.invalid');
    expect(await codeOf(accounts().create({ name: 'Reader', role: 'viewer' }))).toBe('service_account.name_taken');
    // A manager of members with a custom role cannot revoke a service token that has more rights than they have.
    const { roleId } = await api
      .caller(owner.cookie)
      .role.create({ name: 'Clerk', permissions: ['member.write', 'app.read', 'token.read'] });
    const clerk = await api.signUp('Clerk', roleId);
    const strong = await accounts().create({ name: 'Strong', role: 'admin' });
    const asClerk = api.caller(clerk.cookie).serviceAccount;
    expect(await codeOf(asClerk.delete({ ...strong, confirmName: 'Strong' }))).toBe('role.beyond_own');
    expect(await codeOf(asClerk.update({ ...strong, role: 'viewer' }))).toBe('role.beyond_own');
    const asDeveloper = api.caller(developer.cookie).serviceAccount;
    expect(await codeOf(asDeveloper.create({ name: 'Mine', role: 'viewer' }))).toBe('permission.denied');
  });
});
