import { type AppId, newId, parseId, type ServerId } from '@fairlead/contract/ids';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { getConfig, getConfigVersion, listConfigs, type Settings } from '../config/index.ts';
import { createDeployment } from '../deployment/index.ts';
import { auditEventsOf, type TestWorld, testWorld } from '../testing/index.ts';
import { restoreConfig, updateConfig } from './index.ts';

let db: TestDatabase;
let world: TestWorld;

beforeAll(async () => {
  db = await testDatabase();
  world = await testWorld(db.database);
});
afterAll(() => db.drop());

async function newApp(name: string): Promise<{ readonly appId: AppId; readonly deploymentId: string }> {
  const { appId, deploymentId } = await world.createApp(name);
  return { appId: parseId('app', appId), deploymentId: deploymentId ?? '' };
}

async function addServer(): Promise<ServerId> {
  const id = newId('srv');
  const { organizationId } = world;
  await world.system(({ tx }) =>
    tx.server.create({ data: { id, organizationId, name: id, publicKey: Buffer.from(id) } }),
  );
  return parseId('srv', id);
}

const update = (appId: AppId, settings: Partial<Settings>) =>
  world.tenant((ctx) => updateConfig(ctx, { appId, settings }));
const restore = (appId: AppId, number: number, newestNumber?: number) =>
  world.tenant((ctx) => restoreConfig(ctx, { appId, number, newestNumber }));
const saved = (appId: AppId) => world.tenant((ctx) => getConfig(ctx, { appId }));
const plain = (value: string) => ({ value, scope: 'both' }) as const;

test('a restored version is a new one, and the history keeps all of them', async () => {
  const { appId } = await newApp('Restored');
  await update(appId, { stopTimeoutMs: 1000, variables: { A: plain('1') } });
  await update(appId, { stopTimeoutMs: 2000, variables: { A: plain('2'), B: plain('3') } });
  const version = await world.tenant((ctx) => getConfigVersion(ctx, { appId, number: 1 }));
  expect(version).toMatchObject({ number: 1, leftOut: [], settings: { stopTimeoutMs: 1000 } });

  const restored = await restore(appId, 1, 2);
  expect(restored).toMatchObject({ number: 3, leftOut: [] });
  const { settings } = await saved(appId);
  expect(settings).toEqual(version.settings);
  expect(settings.variables).toEqual({ A: plain('1') });
  const { items } = await world.tenant((ctx) => listConfigs(ctx, { appId, limit: 10 }));
  expect(items.map(({ number, changed }) => [number, changed])).toEqual([
    [3, ['stopTimeoutMs', 'variables.A', 'variables.B']],
    [2, ['stopTimeoutMs', 'variables.A', 'variables.B']],
    [1, ['stopTimeoutMs', 'variables.A']],
  ]);
  const event = (await auditEventsOf(world)).findLast(({ action }) => action === 'config.update');
  expect(event?.before).toMatchObject({ number: 2, stopTimeoutMs: '2000', 'variables.B': '3' });
  expect(event?.after).toMatchObject({ number: 3, contentOf: 1, stopTimeoutMs: '1000', 'variables.B': null });

  expect(await restore(appId, 1), 'the same settings make no new version').toMatchObject({ number: 3 });
});

test('a restore is refused for an unknown version, and after settings that the caller has not seen', async () => {
  const { appId } = await newApp('Refused');
  await update(appId, { stopTimeoutMs: 1000 });
  await update(appId, { stopTimeoutMs: 2000 });
  await expect(restore(appId, 3)).rejects.toMatchObject({ code: 'config.version_not_found' });
  await expect(restore(appId, 1, 1)).rejects.toMatchObject({ code: 'config.changed_meanwhile' });
  const { appId: other } = await newApp('Other');
  await expect(restore(other, 1)).rejects.toMatchObject({ code: 'config.version_not_found' });
  expect(await saved(appId)).toMatchObject({ number: 2, settings: { stopTimeoutMs: 2000 } });
});

test('a variable that is a secret now stays one, and its former value leaves no version', async () => {
  const { appId } = await newApp('Secretive');
  const { environmentId } = await saved(appId);
  await update(appId, { variables: { TOKEN: plain('once-plain'), COLOR: plain('red') } });
  await update(appId, { variables: { COLOR: plain('blue') } });
  await world.tenant(({ tx, organizationId }) =>
    tx.secret.create({ data: { id: 'sec_restored', organizationId, appId, environmentId, name: 'TOKEN', number: 1 } }),
  );
  const leftOut = [{ name: 'variables.TOKEN', reason: 'is_secret' }];
  const version = await world.tenant((ctx) => getConfigVersion(ctx, { appId, number: 1 }));
  expect(version.leftOut).toEqual(leftOut);
  expect(JSON.stringify(version)).not.toContain('once-plain');

  expect(await restore(appId, 1)).toMatchObject({ number: 3, leftOut });
  expect((await saved(appId)).settings.variables).toEqual({ COLOR: plain('red') });
});

test('a value that was made secret stays hidden after the secret is deleted, in what is live too', async () => {
  const { appId, deploymentId } = await newApp('Deleted secret');
  const { environmentId } = await saved(appId);
  await update(appId, { variables: { TOKEN: plain('once-plain'), COLOR: plain('red') } });
  await world.advance(deploymentId);
  await world.finish(deploymentId);
  const { deploymentId: second } = await world.tenant((ctx) => createDeployment(ctx, { appId }));
  await world.advance(second);
  await world.finish(second);
  expect((await saved(appId)).live?.settings.variables).toEqual({ TOKEN: plain('once-plain'), COLOR: plain('red') });

  await update(appId, { variables: { COLOR: plain('red') } });
  const secret = { id: newId('sec'), appId, environmentId, name: 'TOKEN', number: 1 };
  await world.tenant(({ tx, organizationId }) => tx.secret.create({ data: { ...secret, organizationId } }));
  const { live, notDeployed } = await saved(appId);
  expect(live?.settings.variables).toMatchObject({ TOKEN: { value: '••••••' }, COLOR: plain('red') });
  expect(notDeployed).toContain('variables.TOKEN');
  await world.tenant(({ tx, clock }) =>
    tx.secret.update({ where: { id: secret.id }, data: { deletedAt: clock.now() } }),
  );
  expect(JSON.stringify(await saved(appId))).not.toContain('once-plain');
  const version = await world.tenant((ctx) => getConfigVersion(ctx, { appId, number: 1 }));
  expect(version.leftOut).toEqual([{ name: 'variables.TOKEN', reason: 'was_secret' }]);
  expect(JSON.stringify(version)).not.toContain('once-plain');
  const unaware = world.tenant((ctx) => restoreConfig(ctx, { appId, number: 1, leftOut: [] }));
  await expect(unaware).rejects.toMatchObject({ code: 'config.changed_meanwhile' });
  const aware = world.tenant((ctx) => restoreConfig(ctx, { appId, number: 1, leftOut: ['variables.TOKEN'] }));
  expect((await aware).leftOut).toEqual(version.leftOut);

  // A value that is plain again is no difference.
  await update(appId, { variables: { TOKEN: plain('once-plain'), COLOR: plain('red') } });
  expect((await saved(appId)).live?.settings.variables.TOKEN).toEqual(plain('once-plain'));
});

test('a build server that was deleted is left out; the one of now stays', async () => {
  const { appId } = await newApp('Built');
  const [former, now] = [await addServer(), await addServer()];
  await update(appId, { buildServerId: former, stopTimeoutMs: 1000 });
  await update(appId, { buildServerId: now, stopTimeoutMs: 2000 });
  await world.system(({ tx }) => tx.server.delete({ where: { id: former } }));
  expect(await restore(appId, 1)).toMatchObject({
    number: 3,
    leftOut: [{ name: 'buildServerId', reason: 'server_missing' }],
  });
  expect((await saved(appId)).settings).toMatchObject({ buildServerId: now, stopTimeoutMs: 1000 });
});

test('settings that are not live yet are compared with those of the live release', async () => {
  const { appId, deploymentId } = await newApp('Live');
  await update(appId, { stopTimeoutMs: 1000 });
  expect(await saved(appId), 'nothing is live').toMatchObject({ live: null, notDeployed: [] });
  await world.advance(deploymentId);
  await world.finish(deploymentId);
  const first = await saved(appId);
  const liveNumber = first.live?.number;
  expect(first.live?.settings.stopTimeoutMs).toBeDefined();

  await update(appId, {
    startTimeoutMs: 90_000,
    // These wait for no deployment.
    deploymentUrls: false,
    releasesKept: 9,
    autoscaling: null,
  });
  const second = await saved(appId);
  expect(second.notDeployed).toEqual([...first.notDeployed, 'startTimeoutMs'].sort());
  expect(second.live).toMatchObject({
    number: liveNumber,
    settings: { startTimeoutMs: 60_000, deploymentUrls: false, releasesKept: 9 },
  });
});
