import { pbkdf2Sync } from 'node:crypto';
import { toJson } from '@bufbuild/protobuf';
import { DesiredStateSchema } from '@fairlead/contract/agent';
import { capabilities } from '@fairlead/contract/capabilities';
import { newId } from '@fairlead/contract/ids';
import { type TestDatabase, testDatabase } from '@fairlead/db/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { auditEventsOf, type TestWorld, testWorld } from '../testing/index.ts';
import { policyInputSchema } from '../traffic/index.ts';
import { attachDomain, getDomain, updateDomainPolicy } from './index.ts';

const links = { localHttpsPort: 4443, localHttpPort: 4480, controlHost: '', publicHost: '' };
let db: TestDatabase;
let world: TestWorld;
let domainId: Awaited<ReturnType<typeof attachDomain>>['id'];

beforeAll(async () => {
  db = await testDatabase();
  world = await testWorld(db.database);
  const app = await world.createApp('Shop');
  await world.advance(app.deploymentId ?? '');
  await world.finish(app.deploymentId ?? '');
  const domain = await world.tenant((ctx) =>
    attachDomain(ctx, { appId: app.appId, host: 'shop.example.test', pathPrefix: '/' }, links),
  );
  domainId = domain.id;
});
afterAll(() => db.drop());

const update = (policy: object) =>
  world.tenant((ctx) => updateDomainPolicy(ctx, { domainId, policy: policyInputSchema.parse(policy) }));
async function lastAudit() {
  const events = (await auditEventsOf(world)).filter(({ action }) => action === 'domain.update_policy');
  const last = events.at(-1);
  if (last === undefined) throw new Error('no policy was written down');
  return last;
}

function opens(stored: string, password: string): boolean {
  const [kind, iterations, salt = '', hash] = stored.split(':');
  const bytes = pbkdf2Sync(password, Buffer.from(salt, 'base64'), Number(iterations), 32, 'sha256');
  return kind === 'pbkdf2-sha256' && bytes.toString('base64') === hash;
}

async function sentUsers() {
  const { routes } = await world.desired();
  return routes[0]?.policy?.basicAuth?.users ?? [];
}

test('a policy reaches the server immediately, and no reader gets a hash', async () => {
  const { version } = await world.desired();
  const ann = { name: 'ann', password: 'correct horse' };
  const saved = await update({ compress: true, basicAuth: { realm: 'Staging', users: [ann] } });
  expect(saved.basicAuth).toEqual({ realm: 'Staging', users: [{ name: 'ann' }] });

  const state = await world.desired();
  expect(state.version?.number).toBe((version?.number ?? 0n) + 1n);
  expect(state.requires).toContain('traffic');
  expect(state.routes[0]).toMatchObject({ target: { case: 'app' }, policy: { compress: true } });
  const [user] = await sentUsers();
  expect(opens(user?.passwordHash ?? '', 'correct horse')).toBe(true);
  expect(opens(user?.passwordHash ?? '', 'another horse')).toBe(false);
  expect(JSON.stringify(toJson(DesiredStateSchema, state))).not.toContain('correct horse');

  const view = await world.tenant((ctx) => getDomain(ctx, { domainId }, links));
  expect(view).toMatchObject({ host: 'shop.example.test', policy: { compress: true } });
  const audit = await lastAudit();
  expect(JSON.stringify(audit.after)).toContain('another');
  for (const told of [view, audit]) expect(JSON.stringify(told)).not.toMatch(/pbkdf2|correct horse/);
});

test('an existing user without a password keeps theirs; a new one needs one', async () => {
  const [before] = await sentUsers();
  const bob = { name: 'bob', password: 'battery staple' };
  await update({ basicAuth: { users: [{ name: 'ann' }, bob] } });
  const [ann, added] = await sentUsers();
  expect(ann?.passwordHash).toBe(before?.passwordHash);
  expect(opens(added?.passwordHash ?? '', 'battery staple')).toBe(true);

  await expect(update({ basicAuth: { users: [{ name: 'eve' }] } })).rejects.toMatchObject({
    code: 'domain.password_missing',
  });
  expect(await sentUsers()).toHaveLength(2);
});

test('changes are audited by name, long pages by their length', async () => {
  await update({ maintenance: { body: 'x'.repeat(5000) }, allow: ['10.0.0.0/8'] });
  const { before, after } = await lastAudit();
  expect(before).toMatchObject({ maintenance: 'null', allow: '[]' });
  expect(after).toMatchObject({ allow: '["10.0.0.0/8"]' });
  expect(JSON.stringify(after)).toContain('5000 characters');
  expect(JSON.stringify(after)).not.toContain('xxx');
  expect(after).not.toHaveProperty('compress');
});

test('a redirect leaves the app', async () => {
  await update({ redirect: { to: 'https://example.com/new', status: 301 } });
  const { routes } = await world.desired();
  expect(routes[0]?.target).toMatchObject({
    case: 'redirect',
    value: { to: 'https://example.com/new', status: 301, keepPath: true },
  });
  expect(routes[0]?.policy).toBeUndefined();

  const isRuled = async () => (await world.tenant((ctx) => getDomain(ctx, { domainId }, links))).hasPolicy;
  expect(await isRuled()).toBe(true);
  await update({});
  expect(await isRuled()).toBe(false);
});

test('a policy is refused until the agent of each server applies it, and then the state requires that', async () => {
  const { appId: app } = await world.createApp('Auth', { deployNow: false });
  const forwardAuth = { app, path: '/verify', responseHeaders: ['x-user'] };
  await expect(update({ forwardAuth })).rejects.toMatchObject({ code: 'domain.capability_missing' });
  await world.tenant((ctx) =>
    ctx.tx.server.updateMany({
      where: { organizationId: ctx.organizationId },
      data: { capabilities: Object.keys(capabilities) },
    }),
  );
  await expect(update({ forwardAuth: { ...forwardAuth, app: newId('app') } })).rejects.toMatchObject({
    code: 'app.not_found',
  });
  await update({ forwardAuth });
  const state = await world.desired();
  expect(state.requires).toContain('traffic.forward_auth');
  expect(state.routes[0]?.policy?.forwardAuth).toMatchObject(forwardAuth);
  await update({});
});
