// Recovery of webhooks that GitHub sent while nothing received them.
import { newId, parseId } from '@fairlead/contract/ids';
import { requireAppKey } from '@fairlead/core/github';
import { deliveryLimits, recordDeliveries, recoverDeliveries } from '@fairlead/core/push';
import { githubPush, testHash } from '@fairlead/core/push/testing';
import { type TestWorld, testWorld } from '@fairlead/core/testing';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { createFakeGithub, type FakeGithub } from '@fairlead/testkit';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { processDeliveriesHandler } from './delivery.ts';
import { recoverDeliveriesHandler } from './delivery-recovery.ts';
import { type ConnectedApp, connectApp, githubParts } from './github.testing.ts';
import type { HandlerParts } from './handler.ts';

let db: TestDatabase;
let world: TestWorld;
let fake: FakeGithub;
let parts: HandlerParts;
let app: ConnectedApp;

beforeEach(async () => {
  db = await testDatabase();
  world = await testWorld(db.database);
  fake = await createFakeGithub({ now: () => world.clock.now().getTime() });
  parts = githubParts(db.database, world);
  app = await connectApp(parts, world, fake);
  fake.state.faults.dropsWebhooks = true;
});
afterEach(async () => {
  expect(fake.state.problems).toEqual([]);
  await fake.close();
  await db.drop();
});

async function push(number: number): Promise<void> {
  const { repositoryId, atGithub: appId } = app;
  const commits = { before: testHash(number), after: testHash(number + 1), pushedAt: 1_764_000_000 + number };
  const payload = githubPush({ ...commits, repositoryId });
  await fake.deliver({ appId, event: 'push', payload, guid: `guid-${number}` });
}

/** Runs the job when it is due again. */
async function recover(): Promise<void> {
  world.clock.forward(30_000);
  await recoverDeliveriesHandler(parts, {});
}

const stored = () => world.tenant(({ tx }) => tx.webhookDelivery.findMany({ orderBy: { sequence: 'asc' } }));
const keys = async () => (await stored()).map(({ deliveryKey }) => deliveryKey);

test('webhooks that did not arrive are fetched once, oldest first, and deployed', async () => {
  for (const number of [1, 2, 3]) await push(number);
  await recover();
  expect(await keys()).toEqual(['guid-1', 'guid-2', 'guid-3']);
  expect(await stored()).toMatchObject([{ isRecovered: true, source: 'github', event: 'push' }, {}, {}]);
  await recover();
  expect(await stored()).toHaveLength(3);
  await processDeliveriesHandler(parts, { organizationId: parseId('org', world.organizationId) });
  const waiting = await world.tenant(({ tx }) => tx.deployment.findMany({ where: { state: 'queued' } }));
  expect(waiting.map(({ ref }) => ref)).toEqual([testHash(4)]);
});

test('a webhook that arrived is not fetched, and other events are left out', async () => {
  await push(1);
  const delivery = {
    organizationId: world.organizationId,
    source: 'github',
    event: 'push',
    body: githubPush(),
  } as const;
  await world.system((ctx) =>
    recordDeliveries(ctx, [{ ...delivery, endpointId: app.githubAppId, deliveryKey: 'guid-1' }]),
  );
  await fake.deliver({ appId: app.atGithub, event: 'star', payload: { action: 'created' }, guid: newId('evt') });
  await fake.deliver({ appId: app.atGithub, event: 'push', payload: { ref: 'no push' }, guid: newId('evt') });
  await recover();
  expect(await stored()).toMatchObject([{ deliveryKey: 'guid-1', isRecovered: false }]);
});

test('all pages of a long outage are read, and later looks stop at what is known', async () => {
  for (let number = 1; number <= 130; number += 1) await push(number);
  await recover();
  expect(await stored()).toHaveLength(130);
  world.clock.forward(60 * 60_000);
  await push(131);
  await recover();
  world.clock.forward(60 * 60_000);
  const lists: (string | null)[] = [];
  const { github } = parts;
  parts = {
    ...parts,
    github: {
      ...github,
      listDeliveries: (key, cursor) => {
        lists.push(cursor);
        return github.listDeliveries(key, cursor);
      },
    },
  };
  await recover();
  expect(lists).toEqual([null]);
  expect(await stored()).toHaveLength(131);
});

test('an attempt that ended late is found although newer ones were read', async () => {
  await push(2);
  await recover();
  const late = fake.state.deliveries[0];
  if (late === undefined) throw new Error('nothing was sent');
  fake.state.deliveries.unshift({ ...late, id: late.id - 1, guid: 'guid-1', deliveredAt: late.deliveredAt - 5_000 });
  await recover();
  expect(await keys()).toEqual(['guid-2', 'guid-1']);
});

test.each(['primary', 'secondary'] as const)('a %s rate limit is waited for, and nothing is lost', async (kind) => {
  await push(1);
  fake.state.faults.rateLimit = { kind, remaining: 1, retryAfterSeconds: 600 };
  await recover();
  const asked = fake.state.requests;
  await recover();
  expect(fake.state.requests).toBe(asked);
  world.clock.forward(600_000);
  await recover();
  expect(await keys()).toEqual(['guid-1']);
});

test('an outage of GitHub in the middle loses and doubles nothing', async () => {
  for (const number of [1, 2, 3]) await push(number);
  const { github } = parts;
  let calls = 0;
  const failing = {
    ...github,
    getDeliveryPayload: async (...input: Parameters<typeof github.getDeliveryPayload>) => {
      calls += 1;
      fake.state.faults.down = calls === 2;
      return github.getDeliveryPayload(...input);
    },
  };
  const whole = parts;
  parts = { ...parts, github: failing };
  await recover();
  expect(await keys()).toEqual(['guid-1']);
  fake.state.faults.down = false;
  parts = whole;
  await recover();
  expect(await keys()).toEqual(['guid-1', 'guid-2', 'guid-3']);
});

test('while one job processes deliveries, another one ends at once and leaves its place to deployments', async () => {
  await push(1);
  await recover();
  const { organizationId } = world;
  await world.tenant(async ({ tx }) => {
    await tx.$queryRaw`SELECT pg_advisory_xact_lock(hashtextextended(${`webhook_delivery ${organizationId}`}, 0))::text`;
    await processDeliveriesHandler(parts, { organizationId });
  });
  expect(await stored()).toMatchObject([{ state: 'received', attempts: 0 }]);
  await processDeliveriesHandler(parts, { organizationId });
  expect(await stored()).toMatchObject([{ state: 'processed' }]);
});

test('a server whose log has no end and times of the future costs a bounded number of pages, and nothing is stored', async () => {
  const entry = { deliveryId: 1, guid: 'guid-1', event: 'push', action: null, deliveredAt: new Date('2099-01-01') };
  let pages = 0;
  const listDeliveries = async () => {
    pages += 1;
    return { items: Array.from({ length: 1000 }, () => entry), next: `page-${pages}` };
  };
  world.clock.forward(30_000);
  await recoverDeliveriesHandler({ ...parts, github: { ...parts.github, listDeliveries } }, {});
  expect(pages).toBe(300);
  expect(await stored()).toEqual([]);
});

test('recovery stops at the bytes that an organization may store within a day, and continues later', async () => {
  for (const number of [1, 2, 3]) await push(number);
  const { githubAppId } = app;
  const { organizationId } = world;
  const bytes = Buffer.byteLength(fake.state.deliveries[0]?.body ?? '') + 'push'.length + 1024;
  const bounded = async () =>
    recoverDeliveries(
      {
        github: parts.github,
        key: await world.tenant((ctx) => requireAppKey(ctx, githubAppId, world.keys)),
        tenant: world.tenant,
        system: world.system,
        limits: { ...deliveryLimits, githubPushes: 2.5 * bytes },
      },
      { githubAppId, organizationId, readUntil: new Date(0) },
    );
  expect(await bounded()).toBe(2);
  expect(await bounded()).toBe(0);
  expect(await keys()).toEqual(['guid-1', 'guid-2']);
  world.clock.forward(24 * 3_600_000 + 1);
  expect(await bounded()).toBe(1);
});

test('an organization that an earlier run is busy with is left out, and has its turn afterwards', async () => {
  await push(1);
  const { turns } = parts;
  parts = { ...parts, turns: { ...turns, busy: () => [world.organizationId] } };
  await recover();
  expect(await keys()).toEqual([]);
  parts = { ...parts, turns };
  await recover();
  expect(await keys()).toEqual(['guid-1']);
});
