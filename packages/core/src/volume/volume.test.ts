// Deletion of a volume: scheduled, cancelled, and after its delay done by its servers.
import { create } from '@bufbuild/protobuf';
import { ReportSchema } from '@fairlead/contract/agent';
import { type AppId, parseId } from '@fairlead/contract/ids';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { updateConfig } from '../app/index.ts';
import { createDeployment } from '../deployment/index.ts';
import { recordReport } from '../link/index.ts';
import { auditOf, type TestWorld, testWorld } from '../testing/index.ts';
import { deleteVolume, listVolumes, releaseDueVolumes, restoreVolume, volumeDelayMs } from './index.ts';

let db: TestDatabase;
let world: TestWorld;
let appId: AppId;
let environmentId: string;

beforeAll(async () => {
  db = await testDatabase();
  world = await testWorld(db.database);
  await world.system(({ tx }) => tx.server.updateMany({ data: { capabilities: ['volume', 'build.plan'] } }));
  ({ appId } = await world.createApp('Shop', { host: 'shop.example.test', deployNow: false }));
  await setVolumes([{ name: 'data', path: '/data' }]);
  await deploy();
});
afterAll(() => db.drop());

const setVolumes = (mounts: { name: string; path: string }[]) => {
  const volumes = mounts.map((mount) => ({ ...mount, snapshots: 'off' as const }));
  return world.tenant((ctx) => updateConfig(ctx, { appId, settings: { volumes } }));
};
async function deploy(): Promise<void> {
  const { deploymentId } = await world.tenant((ctx) => createDeployment(ctx, { appId }));
  await world.advance(deploymentId);
  await world.finish(deploymentId);
  environmentId = (await volume()).environmentId;
  await tell(['data']);
}
/** Reports the volumes that the server holds. */
const tell = (names: string[]) =>
  world.system((ctx) =>
    recordReport(ctx, {
      serverId: world.serverId,
      report: create(ReportSchema, {
        volumes: names.map((name) => ({ key: { appId, environmentId, name }, usedBytes: 5000n })),
      }),
    }),
  );
const volumes = async () => (await world.tenant((ctx) => listVolumes(ctx, { appId }))).items;
async function volume() {
  const [found] = await volumes();
  if (found === undefined) throw new Error('there is no volume');
  return found;
}
const announce = async (confirmName = 'data') => {
  const volumeId = (await volume()).id;
  return world.tenant((ctx) => deleteVolume(ctx, { volumeId, confirmName }));
};
const deleted = async () => (await world.desired()).deletedVolumes.map(({ name }) => name);

test('a volume in the settings or the live release is not deleted, nor one without its name typed', async () => {
  await expect(announce()).rejects.toMatchObject({ code: 'volume.in_use' });
  await setVolumes([]);
  // The live release still mounts it.
  await expect(announce()).rejects.toMatchObject({ code: 'volume.in_use' });
  await deploy();
  await expect(announce('date')).rejects.toMatchObject({ code: 'volume.confirm_mismatch' });
});

test('a scheduled deletion does nothing for seven days, and can be cancelled', async () => {
  const { deleteAt, volumeId } = await announce();
  expect(deleteAt.getTime() - world.clock.now().getTime()).toBe(volumeDelayMs);
  await expect(announce()).rejects.toMatchObject({ code: 'volume.deletion_pending' });
  world.clock.forward(volumeDelayMs - 1000);
  expect(await world.system(releaseDueVolumes)).toBe(0);
  expect(await deleted()).toEqual([]);
  await world.tenant((ctx) => restoreVolume(ctx, { volumeId }));
  world.clock.forward(2000);
  expect(await world.system(releaseDueVolumes)).toBe(0);
  expect(await volume()).toMatchObject({ deleteAt: null, usedBytes: 5000 });
});

test('settings that name it again cancel the deletion as well', async () => {
  await announce();
  await setVolumes([{ name: 'data', path: '/data' }]);
  await deploy();
  expect((await volume()).deleteAt).toBeNull();
  await setVolumes([]);
  await deploy();
});

test('after the delay its server deletes it, and it is gone once the server no longer reports it', async () => {
  const { volumeId } = await announce();
  const before = (await world.desired()).version?.number ?? 0n;
  world.clock.forward(volumeDelayMs);
  expect(await world.system(releaseDueVolumes)).toBe(1);
  expect(await deleted()).toEqual(['data']);
  expect((await world.desired()).version?.number).toBeGreaterThan(before);
  await expect(world.tenant((ctx) => restoreVolume(ctx, { volumeId }))).rejects.toMatchObject({
    code: 'volume.deletion_not_pending',
  });

  // Told, and not done yet.
  await tell(['data']);
  expect(await volumes()).toHaveLength(1);
  await tell([]);
  expect(await volumes()).toEqual([]);
  expect(await deleted()).toEqual([]);
  const audit = (await auditOf(world)).filter((action) => action.startsWith('volume.'));
  expect(audit).toEqual(['volume.delete', 'volume.restore', 'volume.delete', 'volume.delete']);
});

test('a member of another organization can neither delete nor restore it', async () => {
  await tell(['notes']);
  const volumeId = (await volume()).id;
  const other = await testWorld(db.database, 'other', world.clock);
  const foreign = other.tenant((ctx) =>
    deleteVolume(ctx, { volumeId: parseId('vol', volumeId), confirmName: 'notes' }),
  );
  await expect(foreign).rejects.toMatchObject({ code: 'volume.not_found' });
});
