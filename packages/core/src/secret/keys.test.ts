// Keys of secrets: a tampered value is an error, rotation loses nothing, and an organization's deletion removes its
// keys.

import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AppId, parseId } from '@fairlead/contract/ids';
import { afterEach, expect, test } from 'vitest';
import { builtStatus, type TestWorld } from '../testing/index.ts';
import {
  addMasterKey,
  createSecretKeys,
  listMasterKeysInUse,
  listSecretVersions,
  openMasterKeyFile,
  pruneMasterKeys,
  revealSecret,
  rotateDataKey,
  rotateValues,
  updateSecrets,
} from './index.ts';
import { secretStage } from './testing.ts';

let world: TestWorld;
let appId: AppId;
let first: string;
const { set, list, idOf, connect, goLive } = secretStage((begun) => {
  ({ world, appId, first } = begun);
});

test('a value that was tampered with in the database, or moved to another row, is an error', async () => {
  await connect();
  await set([
    { name: 'A', value: 'one', sealed: false },
    { name: 'B', value: 'two', sealed: false },
  ]);
  const [secretId, otherId] = [await idOf('A'), await idOf('B')];
  await world.system(async ({ tx }) => {
    const other = await tx.secretVersion.findFirstOrThrow({ where: { secretId: otherId } });
    await tx.secretVersion.updateMany({ where: { secretId }, data: { envelope: other.envelope } });
  });
  const refused = { code: 'secret.undecryptable' };
  await expect(world.tenant((ctx) => revealSecret(ctx, { secretId, number: 1 }, world.keys))).rejects.toMatchObject(
    refused,
  );
  await expect(set([{ name: 'A', value: 'one' }])).rejects.toMatchObject(refused);
  await world.advance(first);
  await world.report({ builds: [builtStatus(first)] });
  // Nothing else is sent in its place, and the agent cannot open it.
  const state = await world.desired();
  expect(state.apps.find((spec) => spec.appId === appId)?.candidate?.release?.secrets?.sealed).toEqual(
    new Uint8Array([0]),
  );
});

let dir: string | null = null;
afterEach(async () => {
  if (dir !== null) await rm(dir, { recursive: true });
  dir = null;
});

test('data keys and the master key are rotated while values are read and written, and nothing is lost', async () => {
  dir = await mkdtemp(join(tmpdir(), 'fairlead-rotation-'));
  const path = join(dir, 'master-key');
  await writeFile(path, `${randomBytes(32).toString('base64url')}\n`, { mode: 0o600 });
  // Two processes: what one has cached, the other has not.
  const [web, worker] = [
    createSecretKeys(await openMasterKeyFile(path)),
    createSecretKeys(await openMasterKeyFile(path)),
  ];
  const names = Array.from({ length: 12 }, (_, index) => `N${index}`);
  const owner = { appId };
  const write = (round: number) =>
    world.tenant((ctx) =>
      updateSecrets(
        ctx,
        { owner, items: names.map((name) => ({ name, value: `${name} ${round}`, sealed: false })) },
        web,
      ),
    );
  await write(0);
  const ids = new Map((await list()).secrets.map(({ name, id }) => [name, id]));
  const read = async (keys: typeof web) => {
    for (const { name, number } of (await list()).secrets) {
      const secretId = ids.get(name) ?? parseId('sec', 'sec_0');
      const { value } = await world.tenant((ctx) => revealSecret(ctx, { secretId, number }, keys));
      expect(value).toBe(`${name} ${number - 1}`);
    }
  };
  const rotate = async () => {
    for (;;) {
      const { rewrapped, reencrypted } = await world.system((ctx) => rotateValues(ctx, worker));
      if (rewrapped + reencrypted === 0) return;
    }
  };
  const keyIds = () =>
    world.system(({ tx }) => tx.dataKey.findMany({ where: { organizationId: world.organizationId } }));
  const before = await keyIds();

  for (let round = 1; round <= 4; round += 1) {
    await Promise.all([
      write(round),
      read(web),
      read(worker),
      world.tenant((ctx) => rotateDataKey(ctx, web)),
      round % 2 === 0 ? addMasterKey(path) : rotate(),
      rotate(),
    ]);
  }
  await rotate();
  await rotate();
  const after = await keyIds();
  expect(after).toHaveLength(1);
  expect(after[0]?.id).not.toBe(before[0]?.id);
  expect(after[0]?.masterKeyId).toBe(await web.wrapper.keyId());
  await pruneMasterKeys(path, await world.system(listMasterKeysInUse));
  const fresh = createSecretKeys(await openMasterKeyFile(path));
  await read(fresh);
  for (const [name, secretId] of ids) {
    const { versions } = await world.tenant((ctx) => listSecretVersions(ctx, { secretId }));
    expect(versions).toHaveLength(5);
    for (const { number } of versions) {
      const { value } = await world.tenant((ctx) => revealSecret(ctx, { secretId, number }, fresh));
      expect(value).toBe(`${name} ${number - 1}`);
    }
  }
}, 60_000);

test('an organization ends with all its secrets and keys', async () => {
  await connect();
  await set([{ name: 'A', value: 'x' }]);
  await goLive(first);
  const { organizationId } = world;
  await world.system(async ({ tx }) => {
    await tx.placementServer.deleteMany({ where: { organizationId } });
    await tx.deployment.deleteMany({ where: { organizationId } });
    await tx.organization.delete({ where: { id: organizationId } });
    expect(await tx.dataKey.count({ where: { organizationId } })).toBe(0);
    expect(await tx.secretVersion.count({ where: { organizationId } })).toBe(0);
  });
});
