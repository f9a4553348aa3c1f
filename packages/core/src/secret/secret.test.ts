// Secrets on a real database: create, version, delete, restore and remind.

import { type AppId, parseId } from '@fairlead/contract/ids';
import { expect, test } from 'vitest';
import type { TestWorld } from '../testing/index.ts';
import {
  createSecretGroup,
  deleteSecret,
  deleteSecretGroup,
  expiringSecretsSql,
  listSecretVersions,
  recordSecretReminders,
  restoreSecret,
  revealSecret,
} from './index.ts';
import { secretsMax } from './rules.ts';
import { secretStage } from './testing.ts';

let world: TestWorld;
let appId: AppId;
const { set, list, idOf, audit } = secretStage((begun) => {
  ({ world, appId } = begun);
});

test('a secret is sealed unless it says otherwise, and lists and history hold no value', async () => {
  expect(
    await set([
      { name: 'A', value: 'hunter2' },
      { name: 'B', value: 'hunter3', sealed: false },
    ]),
  ).toEqual({
    added: ['A', 'B'],
    changed: [],
    unchanged: [],
  });
  const reveal = (name: string, number = 1) =>
    world.tenant(async (ctx) => revealSecret(ctx, { secretId: await idOf(name), number }, world.keys));
  await expect(reveal('A')).rejects.toMatchObject({ code: 'secret.sealed' });
  expect(await reveal('B')).toEqual({ name: 'B', number: 1, value: 'hunter3' });
  await expect(reveal('B', 2)).rejects.toMatchObject({ code: 'secret.version_not_found' });
  // Unsealing what is stored would be a way around the seal; a new value may be open.
  await expect(set([{ name: 'A', sealed: false }])).rejects.toMatchObject({ code: 'secret.sealed' });
  await set([{ name: 'A', value: 'hunter4', sealed: false }]);
  expect((await reveal('A', 2)).value).toBe('hunter4');
  await expect(reveal('A', 1)).rejects.toMatchObject({ code: 'secret.sealed' });

  const secretId = await idOf('A');
  const history = await world.tenant((ctx) => listSecretVersions(ctx, { secretId }));
  expect(history.versions.map(({ number, sealed, isCurrent }) => [number, sealed, isCurrent])).toEqual([
    [2, false, true],
    [1, true, false],
  ]);
  expect(history.versions[0]?.authorName).toBe(`Owner of ${world.organizationSlug}`);
  const events = await audit();
  expect(events.map(({ action }) => action).sort()).toEqual([
    'secret.import',
    'secret.reveal',
    'secret.reveal',
    'secret.update',
  ]);
  const seen = JSON.stringify([await list(), history, events]);
  expect(seen).not.toContain('hunter');
});

test('a writer of a sealed value cannot tell if it was the same', async () => {
  await set([{ name: 'A', value: 'hunter2' }]);
  const answers = [await set([{ name: 'A', value: 'hunter2' }]), await set([{ name: 'A', value: 'a wrong guess' }])];
  expect(answers).toEqual([
    { added: [], changed: ['A'], unchanged: [] },
    { added: [], changed: ['A'], unchanged: [] },
  ]);
  const { versions } = await world.tenant(async (ctx) => listSecretVersions(ctx, { secretId: await idOf('A') }));
  expect(versions).toHaveLength(3);
  // A secret's attributes can be compared: they are not secret.
  expect((await set([{ name: 'A', delivery: 'environment' }])).unchanged).toEqual(['A']);
});

test('the same open value makes no version; a deleted secret comes back with its history; an old value is restored', async () => {
  await set([{ name: 'A', value: 'one', sealed: false }]);
  expect((await set([{ name: 'A', value: 'one' }])).unchanged).toEqual(['A']);
  await set([{ name: 'A', value: 'two', sealed: true }]);
  const secretId = await idOf('A');
  await world.tenant((ctx) => deleteSecret(ctx, { secretId }));
  expect((await list()).secrets).toEqual([]);
  await expect(world.tenant((ctx) => deleteSecret(ctx, { secretId }))).rejects.toMatchObject({
    code: 'secret.not_found',
  });
  expect((await set([{ name: 'A', value: 'three', sealed: false }])).added).toEqual(['A']);
  expect(await idOf('A')).toBe(secretId);
  expect(await world.tenant((ctx) => restoreSecret(ctx, { secretId, number: 3 }, world.keys))).toEqual({
    secretId,
    number: 4,
  });
  expect((await world.tenant((ctx) => revealSecret(ctx, { secretId, number: 4 }, world.keys))).value).toBe('three');
  await world.tenant((ctx) => restoreSecret(ctx, { secretId, number: 2 }, world.keys));
  await expect(world.tenant((ctx) => revealSecret(ctx, { secretId, number: 5 }, world.keys))).rejects.toMatchObject({
    code: 'secret.sealed',
  });
});

test('a deleted secret is restored unchanged, unless it exceeds a limit', async () => {
  await set([{ name: 'A', value: 'one' }]);
  const secretId = await idOf('A');
  await world.tenant((ctx) => deleteSecret(ctx, { secretId }));
  const restore = () => world.tenant((ctx) => restoreSecret(ctx, { secretId, number: 1 }, world.keys));
  const { organizationId } = world;
  const { environmentId } = await world.system(({ tx }) => tx.secret.findFirstOrThrow({ where: { id: secretId } }));
  const fillers = Array.from({ length: secretsMax }, (_, index) => ({
    id: `sec_filler${index}`,
    organizationId,
    appId,
    environmentId,
    name: `FILLER_${index}`,
    number: 1,
  }));
  await world.system(({ tx }) => tx.secret.createMany({ data: fillers }));
  await expect(restore()).rejects.toMatchObject({ code: 'secret.too_many' });
  await world.system(({ tx }) => tx.secret.deleteMany({ where: { id: { startsWith: 'sec_filler' } } }));
  expect(await restore()).toEqual({ secretId, number: 2 });
  expect((await list()).secrets).toMatchObject([{ id: secretId, name: 'A', number: 2, sealed: true }]);
  // No version comes back from a deleted group.
  const { groupId } = await world.tenant((ctx) => createSecretGroup(ctx, { name: 'shared' }));
  await set([{ name: 'B', value: 'two' }], { groupId });
  const shared = await world.system(({ tx }) => tx.secret.findFirstOrThrow({ where: { groupId } }));
  await world.tenant((ctx) => deleteSecretGroup(ctx, { groupId }));
  const late = world.tenant((ctx) =>
    restoreSecret(ctx, { secretId: parseId('sec', shared.id), number: 1 }, world.keys),
  );
  await expect(late).rejects.toMatchObject({ code: 'secret.not_found' });
});

test('a paste is saved whole or not at all', async () => {
  await set([{ name: 'A', value: 'one' }]);
  const failing = set([
    { name: 'B', value: 'two' },
    { name: 'A', sealed: false },
  ]);
  await expect(failing).rejects.toMatchObject({ code: 'secret.sealed' });
  expect((await list()).secrets.map(({ name }) => name)).toEqual(['A']);
  const many = Array.from({ length: 250 }, (_, index) => ({ name: `N${index}`, value: `value ${index}` }));
  expect((await set(many)).added).toHaveLength(250);
});

test('concurrent writers give each value its own number', async () => {
  await Promise.all(Array.from({ length: 6 }, (_, index) => set([{ name: 'A', value: `value ${index}` }])));
  const secretId = await idOf('A');
  const { versions } = await world.tenant((ctx) => listSecretVersions(ctx, { secretId }));
  expect(versions.map(({ number }) => number)).toEqual([6, 5, 4, 3, 2, 1]);
});

test('secrets that expire soon are reminded of once, and stay on the overview until the date is changed', async () => {
  const days = (count: number) => new Date(world.clock.now().getTime() + count * 86_400_000);
  await set([
    { name: 'SOON', value: 'x', expiresAt: days(3) },
    { name: 'LATER', value: 'y', expiresAt: days(60) },
  ]);
  const mine = async () =>
    (await world.system(recordSecretReminders)).filter(({ organizationId }) => organizationId === world.organizationId);
  expect(await mine()).toMatchObject([
    {
      recipients: [`owner@${world.organizationSlug}.example.test`],
      secrets: [{ name: 'SOON', ownerName: 'Shop', appSlug: 'shop' }],
    },
  ]);
  expect(await mine()).toEqual([]);
  const soon = () => world.tenant((ctx) => ctx.tx.$queryRaw<{ name: string }[]>(expiringSecretsSql(ctx)));
  expect((await soon()).map(({ name }) => name)).toEqual(['SOON']);
  await set([{ name: 'SOON', expiresAt: days(5) }]);
  expect(await mine()).toMatchObject([{ secrets: [{ name: 'SOON' }] }]);
  await set([{ name: 'SOON', expiresAt: null }]);
  expect(await soon()).toEqual([]);
});
