import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { auditEventsOf, type TestWorld, testWorld } from '../testing/index.ts';
import { proxySettingsSchema } from '../traffic/index.ts';
import { getServer, updateProxy } from './index.ts';

let db: TestDatabase;
let world: TestWorld;
beforeAll(async () => {
  db = await testDatabase();
  world = await testWorld(db.database);
});
afterAll(() => db.drop());

const update = (proxy: object) =>
  world.tenant((ctx) => updateProxy(ctx, { serverId: world.serverId, proxy: proxySettingsSchema.parse(proxy) }));

test("what holds for a server's proxy reaches it at once, is shown, and is written down by what changed", async () => {
  const first = await world.desired();
  expect(first.proxy).toBeUndefined();
  await update({ trustedProxies: ['10.0.0.0/8'], accessLog: { format: 'combined' } });
  const state = await world.desired();
  expect(state.version?.number).toBe((first.version?.number ?? 0n) + 1n);
  expect(state.requires).toContain('traffic');
  expect(state.proxy).toMatchObject({ trustedProxies: ['10.0.0.0/8'], http3: true });

  const view = await world.tenant((ctx) => getServer(ctx, { serverId: world.serverId }));
  expect(view.proxy).toMatchObject({ http3: true, accessLog: { format: 'combined', samplePermille: 10 } });
  const event = (await auditEventsOf(world)).findLast(({ action }) => action === 'server.update_proxy');
  expect(event).toMatchObject({ before: { trustedProxies: '[]' }, after: { trustedProxies: '["10.0.0.0/8"]' } });
  expect(Object.keys(event?.after ?? {}).sort()).toEqual(['accessLog', 'trustedProxies']);

  await update({});
  expect((await world.desired()).proxy).toBeUndefined();
});

test('the proxy in front of the dashboard accepts no PROXY protocol, any other one may', async () => {
  const closed = { trustedProxies: ['10.0.0.0/8'], proxyProtocol: true };
  await expect(update(closed)).rejects.toMatchObject({ code: 'server.proxy_is_control' });
  await world.system(({ tx }) => tx.server.updateMany({ data: { isLocal: false } }));
  await update(closed);
  expect((await world.desired()).proxy).toMatchObject({ proxyProtocol: true });
});
