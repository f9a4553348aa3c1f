// Tests for environment variables in the API: the rights of writes and copies, and values of secrets that never leave.
import { parseId } from '@fairlead/contract/ids';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { startTestApi, type TestApi } from './testing/index.ts';
import { testMembers } from './testing/members.ts';

type Caller = ReturnType<TestApi['caller']>;

let api: TestApi;
let owner: Caller;
let appId: ReturnType<typeof parseId<'app'>>;
let production: ReturnType<typeof parseId<'env'>>;
let staging: ReturnType<typeof parseId<'env'>>;
let apps = 0;
const { customRole, grant, member } = testMembers(() => api);

beforeAll(async () => {
  api = await startTestApi();
  owner = api.caller((await api.signUp('Owner', 'owner')).cookie);
  production = parseId('env', (await owner.environment.list()).items[0]?.id ?? '');
  api.world.clock.forward(1000);
  staging = (await owner.environment.create({ name: 'Staging' })).environmentId;
});
afterAll(() => api.close());
beforeEach(async () => {
  apps += 1;
  ({ appId } = await api.world.createApp(`Harbour ${apps}`, { deployNow: false }));
  api.world.clock.forward(1000);
  await api.world.addEnvironment(appId, { environmentId: staging });
  await owner.variable.update({
    appId,
    plain: [{ name: 'LOG_LEVEL', value: 'debug' }],
    secrets: [{ name: 'TOKEN', value: 'hunter2' }],
  });
});

const refusedBy = (errorCode: string) => ({ cause: { published: { errorCode } } });
const denied = refusedBy('permission.denied');
interface Names {
  readonly plain?: string[];
  readonly secrets?: string[];
}
const copy = (caller: Caller, names: Names) =>
  caller.variable.copy({ appId, fromEnvironmentId: production, environmentId: staging, ...names });

/** A new person with permissions in one environment each. */
async function granted(there: Readonly<Record<string, readonly string[]>>): Promise<Caller> {
  const { caller, memberId } = await member(await customRole([]));
  for (const [environmentId, permissions] of Object.entries(there)) {
    await grant(memberId, await customRole(permissions), environmentId);
  }
  return caller;
}

test('plain variables need the right to change the app, secrets also that to set secrets', async () => {
  const writer = await granted({ [production]: ['app.read', 'app.write'] });
  const plain = [{ name: 'REGION', value: 'north' }];
  const secrets = [{ name: 'LOG_LEVEL', value: 'debug' }];
  expect((await writer.variable.update({ appId, plain })).added).toEqual(['REGION']);
  await expect(writer.variable.update({ appId, secrets })).rejects.toMatchObject(denied);
  await expect(writer.variable.update({ appId, environmentId: staging, plain })).rejects.toMatchObject(denied);
  const both = await granted({ [production]: ['app.read', 'app.write', 'secret.write'] });
  expect((await both.variable.update({ appId, secrets })).added).toEqual(['LOG_LEVEL']);
  expect((await both.variable.list({ appId })).variables.map(({ name }) => name)).toEqual(['REGION']);
});

test('no answer has the value of a secret', async () => {
  const answers = [
    await owner.variable.list({ appId }),
    await owner.variable.update({ appId, secrets: [{ name: 'TOKEN', value: 'hunter3' }] }),
    await copy(owner, { secrets: ['TOKEN'] }),
    await owner.secret.list({ appId, environmentId: staging }),
  ];
  expect(JSON.stringify(answers)).not.toContain('hunter');
});

test('a copy needs rights in both environments: for secrets, those of a reveal in the first', async () => {
  const target = ['app.read', 'app.write', 'secret.write'];
  const source = ['app.read', 'secret.reveal'];
  const refused: readonly (readonly [string[], string[], Names])[] = [
    [[], target, { plain: ['LOG_LEVEL'] }],
    [source, ['app.read'], { plain: ['LOG_LEVEL'] }],
    [['app.read', 'secret.read', 'secret.write'], target, { secrets: ['TOKEN'] }],
    [source, ['app.read', 'app.write', 'secret.reveal'], { secrets: ['TOKEN'] }],
  ];
  for (const [from, to, names] of refused) {
    const person = await granted({ [production]: from, [staging]: to });
    await expect(copy(person, names)).rejects.toMatchObject(denied);
  }
  expect((await owner.secret.list({ appId, environmentId: staging })).secrets).toEqual([]);
  const reader = await granted({ [production]: ['app.read'], [staging]: target });
  expect((await copy(reader, { plain: ['LOG_LEVEL'] })).added).toEqual(['LOG_LEVEL']);
  const person = await granted({ [production]: source, [staging]: target });
  expect((await copy(person, { secrets: ['TOKEN'] })).added).toEqual(['TOKEN']);
});

test('a protected environment takes variables from its approvers only, and may be copied from', async () => {
  const { caller: developer } = await member('developer');
  const { caller: admin } = await member('admin');
  const plain = ['LOG_LEVEL'];
  await admin.environment.update({ environmentId: staging, protected: true });
  const locked = refusedBy('environment.protected');
  await expect(copy(developer, { plain })).rejects.toMatchObject(locked);
  const write = { appId, environmentId: staging, plain: [{ name: 'A', value: 'x' }] };
  await expect(developer.variable.update(write)).rejects.toMatchObject(locked);
  expect((await copy(admin, { plain })).added).toEqual(plain);
  const back = { appId, fromEnvironmentId: staging, environmentId: production, plain };
  expect((await developer.variable.copy(back)).unchanged).toEqual(plain);
  await admin.environment.update({ environmentId: staging, protected: false });
});

test('a version of settings is restored by people who may change them there, in a protected environment by approvers', async () => {
  const { caller: developer } = await member('developer');
  const { caller: admin } = await member('admin');
  const { caller: viewer } = await member('viewer');
  const where = { appId, environmentId: staging };
  const { number } = await owner.config.update({ ...where, settings: { stopTimeoutMs: 1000 } });
  await owner.config.update({ ...where, settings: { stopTimeoutMs: 2000 } });
  const restore = (caller: Awaited<ReturnType<typeof member>>['caller']) => caller.config.restore({ ...where, number });
  expect((await viewer.config.getVersion({ ...where, number })).settings.stopTimeoutMs).toBe(1000);
  await expect(restore(viewer)).rejects.toMatchObject(denied);
  await expect(restore(await granted({ [production]: ['app.read', 'app.write'] }))).rejects.toMatchObject(denied);
  await admin.environment.update({ environmentId: staging, protected: true });
  await expect(restore(developer)).rejects.toMatchObject(refusedBy('environment.protected'));
  expect(await restore(admin)).toMatchObject({ number: number + 2 });
  await admin.environment.update({ environmentId: staging, protected: false });
  await owner.config.update({ ...where, settings: { stopTimeoutMs: 3000 } });
  expect(await restore(developer)).toMatchObject({ number: number + 4 });
});

// Last: the clock goes past the sessions of the other tests.
test('a copy of secrets asks for a fresh session, one of plain variables does not', async () => {
  const { caller } = await member('owner');
  api.world.clock.forward(16 * 60_000);
  await expect(copy(caller, { secrets: ['TOKEN'] })).rejects.toMatchObject(refusedBy('session.not_fresh'));
  expect((await copy(caller, { plain: ['LOG_LEVEL'] })).added).toEqual(['LOG_LEVEL']);
});
