// Tests that the agent refuses an unusable desired state whole: the last good one stays active, and the server page
// shows the reason.
import { parseId } from '@fairlead/contract/ids';
import { systemClock } from '@fairlead/core/kernel';
import { bumpServer } from '@fairlead/core/server';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { waitFor } from '../../tools/lib/wait.ts';
import { respondingApp } from './harness/apps.ts';
import { System } from './harness/system.ts';

const HOST = 'steady.localhost';
// Invalid host name; the product would accept it only because of a bug.
const BAD_HOST = 'not a host.localhost';

let system: System;

beforeAll(async () => {
  system = await System.start();
});
afterAll(() => system?.stop());

/** Renames a domain directly in the database, in the transaction that creates the new version. */
async function rename(from: string, to: string): Promise<void> {
  const { database, organizationId } = system.product;
  const serverId = await system.serverId();
  const log = { debug: () => undefined, info: () => undefined, warn: console.error, error: console.error };
  await database.tenant(organizationId, async (tx) => {
    const { count } = await tx.domain.updateMany({ where: { host: from }, data: { host: to } });
    expect(count).toBe(1);
    const organization = parseId('org', organizationId);
    await bumpServer({ tx, organizationId: organization, clock: systemClock, log }, serverId);
  });
}

test('a bad route is refused with its reason and without an effect, and the next good state is applied', async () => {
  const repository = await system.repositories.create('steady', respondingApp('steady'));
  expect(await system.createApp('steady', repository)).toMatchObject({ state: 'live' });
  await waitFor(async () => (await system.server()).inSync, { what: 'the server in sync', timeoutMs: 30_000 });
  const traffic = system.traffic('steady', '/');

  await rename(HOST, BAD_HOST);
  const refused = await waitFor(
    async () => {
      const server = await system.server();
      return server.refusedReason === null ? undefined : server;
    },
    { what: 'the reason of the refusal', timeoutMs: 30_000 },
  );
  expect(refused.refusedReason).toContain(BAD_HOST);
  expect(refused.inSync).toBe(false);
  await traffic.more(30);

  await rename(BAD_HOST, HOST);
  await waitFor(async () => (await system.server()).inSync, { what: 'the server in sync again', timeoutMs: 30_000 });
  expect((await system.server()).refusedReason).toBeNull();
  expect((await traffic.stop()).failures).toEqual([]);
  expect(await system.get('steady')).toEqual({ status: 200, body: 'steady' });
});
