// Webhooks of single apps: what they may deploy, and that their credentials are shown once.
import { type AppId, newId, parseId } from '@fairlead/contract/ids';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { hashToken } from '../kernel/index.ts';
import { rotateDataKey, rotateValues } from '../secret/index.ts';
import { auditEventsOf, type TestWorld, testWorld } from '../testing/index.ts';
import {
  createWebhook,
  deleteWebhook,
  findEndpoint,
  findNextDelivery,
  listWebhooks,
  processDelivery,
  recordDeliveries,
  rotateWebhook,
} from './index.ts';
import { testHash } from './testing.ts';

let db: TestDatabase;
let world: TestWorld;
let appId: AppId;
let count = 0;

beforeAll(async () => {
  db = await testDatabase();
});
afterAll(() => db.drop());
beforeEach(async () => {
  count += 1;
  world = await testWorld(db.database, `acme-${count}`);
  ({ appId } = await world.createApp('Shop', { deployNow: false }));
});

const create = (kind: 'token' | 'signature', name = 'Forge') =>
  world.tenant((ctx) => createWebhook(ctx, { appId, name, kind }, world.keys));
const endpointOf = (id: string) => world.system((ctx) => findEndpoint(ctx, { id }, world.keys));

async function push(endpointId: string, body: object): Promise<void> {
  const delivery = { organizationId: world.organizationId, source: 'app', endpointId, event: 'push' } as const;
  await world.system((ctx) =>
    recordDeliveries(ctx, [{ ...delivery, deliveryKey: newId('evt'), body: JSON.stringify(body) }]),
  );
  const deliveryId = await world.tenant(findNextDelivery);
  if (deliveryId === null) throw new Error('no delivery waits');
  await world.tenant((ctx) =>
    processDelivery({ ...ctx, actor: { kind: 'system', reason: 'delivery.process' } }, { deliveryId }),
  );
}

test('a token is stored hashed and a secret encrypted; lists, rows and the audit log have neither', async () => {
  const [token, secret] = [await create('token', 'Script'), await create('signature')];
  expect(await endpointOf(token.id)).toMatchObject({ check: { kind: 'token', hash: hashToken(token.credential) } });
  const { check } = (await endpointOf(secret.id)) ?? {};
  expect(check?.kind === 'signature' ? check.secret.toString() : null).toBe(secret.credential);
  const seen = await world.tenant(async (ctx) => [
    await listWebhooks(ctx, { appId }),
    await ctx.tx.appWebhook.findMany(),
  ]);
  const text = JSON.stringify([seen, await auditEventsOf(world)], (_, value) =>
    typeof value === 'bigint' ? String(value) : value,
  );
  for (const { credential } of [token, secret]) expect(text).not.toContain(credential);
});

test('rotation keeps the URL and ends the older credential; deletion ends the webhook', async () => {
  const made = await create('token');
  const rotated = await world.tenant((ctx) => rotateWebhook(ctx, { appId, webhookId: made.id }, world.keys));
  expect(rotated.id).toBe(made.id);
  expect(await endpointOf(made.id)).toMatchObject({ check: { hash: hashToken(rotated.credential) } });
  await world.tenant((ctx) => deleteWebhook(ctx, { appId, webhookId: made.id }));
  expect(await endpointOf(made.id)).toBeNull();
});

test('a name is used once, and a webhook of another app or organization is not found', async () => {
  const { id } = await create('token');
  await expect(create('token')).rejects.toMatchObject({ code: 'webhook.name_taken' });
  const beside = await world.createApp('Beside', { deployNow: false });
  const missing = { code: 'webhook.not_found' };
  const ofBeside = { appId: beside.appId, webhookId: id };
  await expect(world.tenant((ctx) => deleteWebhook(ctx, ofBeside))).rejects.toMatchObject(missing);
  const other = await testWorld(db.database, `other-${count}`);
  const foreign = other.tenant((ctx) => rotateWebhook(ctx, { appId, webhookId: id }, other.keys));
  await expect(foreign).rejects.toMatchObject(missing);
});

test('secrets follow a new data key', async () => {
  const made = await create('signature');
  await world.tenant((ctx) => rotateDataKey(ctx, world.keys));
  expect(await world.system((ctx) => rotateValues(ctx, world.keys))).toMatchObject({ reencrypted: 1, keysDeleted: 1 });
  const { check } = (await endpointOf(made.id)) ?? {};
  expect(check?.kind === 'signature' ? check.secret.toString() : null).toBe(made.credential);
});

test('it deploys its own app only: a named commit, or the head of the branch in the primary environment', async () => {
  await world.createApp('Beside', { deployNow: false });
  await world.addEnvironment(appId, { name: 'Staging' }, { branch: 'main' });
  const { id } = await create('token');
  await push(id, { ref: 'main', commit: testHash(9), message: 'Sell' });
  await push(id, {});
  const rows = await world.tenant(({ tx }) => tx.deployment.findMany({ orderBy: [{ number: 'asc' }] }));
  expect(rows.map(({ ref, commitHash }) => [ref, commitHash])).toEqual([
    [testHash(9), testHash(9)],
    [testHash(9), testHash(9)],
    ['main', null],
  ]);
  expect(new Set(rows.map((row) => row.appId))).toEqual(new Set([appId]));
});

test('its maker cannot approve the deployments that it starts', async () => {
  await world.system(({ tx }) =>
    tx.environment.updateMany({ where: { organizationId: world.organizationId }, data: { protected: true } }),
  );
  const { id } = await create('token');
  await push(id, {});
  const [approval] = await world.tenant(({ tx }) => tx.deploymentApproval.findMany());
  const [webhook] = await world.tenant(({ tx }) => tx.appWebhook.findMany());
  expect(approval?.requestedByUserId).toBe(webhook?.createdByUserId);
  expect(parseId('usr', approval?.requestedByUserId ?? '')).toBeDefined();
});
