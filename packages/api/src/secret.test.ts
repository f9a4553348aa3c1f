// Tests for secrets in the API: values never leave, except to a reveal after a fresh confirmation of identity.
import { newId } from '@fairlead/contract/ids';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestApi, type TestApi } from './testing/index.ts';

let api: TestApi;
let owner: string;
let developer: string;
let appId: Awaited<ReturnType<TestApi['world']['createApp']>>['appId'];

beforeAll(async () => {
  api = await startTestApi();
  owner = (await api.signUp('Owner', 'owner')).cookie;
  developer = (await api.signUp('Developer', 'developer')).cookie;
  ({ appId } = await api.world.createApp('Shop', { deployNow: false }));
});
afterAll(() => api.close());

const refusal = (code: string) =>
  expect.objectContaining({
    cause: expect.objectContaining({ published: expect.objectContaining({ errorCode: code }) }),
  });

test('a developer writes a value that only an admin with a fresh session may see', async () => {
  const items = [
    { name: 'OPEN', value: 'hunter2', sealed: false },
    { name: 'SHUT', value: 'hunter3' },
  ];
  await api.caller(developer).secret.update({ owner: { appId }, items });
  const { secrets } = await api.caller(developer).secret.list({ appId });
  expect(secrets.map(({ name, sealed, authorName }) => [name, sealed, authorName])).toEqual([
    ['OPEN', false, 'Developer'],
    ['SHUT', true, 'Developer'],
  ]);
  expect(JSON.stringify(secrets)).not.toContain('hunter');
  const [open, shut] = secrets.map(({ id }) => ({ secretId: id, number: 1 }));
  if (open === undefined || shut === undefined) throw new Error('the list is too short');
  await expect(api.caller(developer).secret.reveal(open)).rejects.toEqual(refusal('permission.denied'));
  await expect(api.caller(owner).secret.reveal(shut)).rejects.toEqual(refusal('secret.sealed'));
  expect(await api.caller(owner).secret.reveal(open)).toEqual({ name: 'OPEN', number: 1, value: 'hunter2' });

  api.world.clock.forward(16 * 60_000);
  await expect(api.caller(owner).secret.reveal(open)).rejects.toEqual(refusal('session.not_fresh'));
  const events = await api.world.system(({ tx }) => tx.auditEvent.findMany({ where: { action: 'secret.reveal' } }));
  expect(events).toHaveLength(1);
  expect(JSON.stringify(events)).not.toContain('hunter');
});

test('names that are none, values that are too long and unknown places are refused without being repeated', async () => {
  const write = (name: string, value: string) =>
    api.caller(owner).secret.update({ owner: { appId }, items: [{ name, value }] });
  for (const [name, value] of [
    ['hunter2', 'x'],
    ['PORT', 'hunter2'],
    ['A', `hunter2${'x'.repeat(70_000)}`],
  ] as const) {
    const error = await write(name, value).catch((thrown: unknown) => thrown);
    expect(error).toEqual(refusal('input.invalid'));
    expect(JSON.stringify((error as { cause: unknown }).cause)).not.toContain('hunter2');
  }
  const missing = api
    .caller(owner)
    .secret.update({ owner: { groupId: newId('scg') }, items: [{ name: 'A', value: 'x' }] });
  await expect(missing).rejects.toEqual(refusal('secret.group_not_found'));
});
