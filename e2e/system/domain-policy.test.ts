// Tests that a domain's policy applies to visitors within moments and without a deployment.
import { policyInputSchema } from '@fairlead/core/traffic';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { waitFor } from '../../tools/lib/wait.ts';
import { FORWARD_AUTH_APP } from './harness/apps.ts';
import { System } from './harness/system.ts';

let system: System;
beforeAll(async () => {
  system = await System.start();
  const repository = await system.repositories.create('door', FORWARD_AUTH_APP);
  expect(await system.createApp('door', repository)).toMatchObject({ state: 'live' });
});
afterAll(() => system?.stop());

const ask = (headers: Readonly<Record<string, string>> = {}) => system.get('door', '/', 5000, headers);
const basic = (name: string, password: string) => ({
  authorization: `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`,
});

/** Sets the policy, and waits until the proxy responds with the new status and, if given, the new body. */
async function follow(policy: object, status: number, body?: string): Promise<void> {
  const [domain] = (await system.app('door')).domains;
  if (domain === undefined) throw new Error('the app has no domain');
  await system.product.verbs.updateDomainPolicy({ domainId: domain.id, policy: policyInputSchema.parse(policy) });
  const arrived = async () => {
    const response = await ask();
    return response.status === status && (body === undefined || response.body === body);
  };
  await waitFor(arrived, { what: `the status ${status}`, timeoutMs: 20_000 });
}

test('basic authentication asks for a password and accepts it', async () => {
  await follow({ basicAuth: { realm: 'Staging', users: [{ name: 'ann', password: 'correct horse' }] } }, 401);
  expect(await ask(basic('ann', 'wrong horse'))).toMatchObject({ status: 401 });
  expect(await ask(basic('ann', 'correct horse'))).toEqual({ status: 200, body: 'inside' });

  // A user who is listed again without a password keeps the stored one beside another rule.
  await follow({ basicAuth: { users: [{ name: 'ann' }] }, deny: ['192.0.2.0/24'] }, 401);
  expect(await ask(basic('ann', 'correct horse'))).toEqual({ status: 200, body: 'inside' });
});

test('forward auth lets another app decide, and only its answer names the user', async () => {
  const auth = await system.createApp('auth', await system.repositories.create('auth', FORWARD_AUTH_APP));
  expect(auth).toMatchObject({ state: 'live' });
  const forwardAuth = { app: auth.appId, path: '/verify', responseHeaders: ['x-user'] };
  await follow({ forwardAuth }, 401, 'sign in first');
  expect(await ask({ cookie: 'user=ann' })).toEqual({ status: 200, body: 'inside ann' });
  expect(await ask({ cookie: 'user=ann', 'x-user': 'root' })).toEqual({ status: 200, body: 'inside ann' });
  expect(await ask({ 'x-user': 'root' })).toMatchObject({ status: 401 });

  // Without an app that decides, nobody comes in.
  await system.product.verbs.deleteApp({ appId: auth.appId, confirmName: 'auth' });
  await waitFor(async () => (await ask({ cookie: 'user=ann' })).status === 503, {
    what: 'the status 503',
    timeoutMs: 20_000,
  });
});

test('a rewritten path is what the app gets', async () => {
  await follow({ rewritePrefix: '/v1' }, 200, 'inside /v1/');
  expect(await system.get('door', '/users?page=2')).toEqual({ status: 200, body: 'inside /v1/users?page=2' });
});

test('denied addresses are refused, and the app gets no request', async () => {
  await follow({ deny: ['127.0.0.0/8'] }, 403);
});

test('a maintenance page replaces the app', async () => {
  await follow({ maintenance: { body: '<h1>Back at ten</h1>' } }, 503);
  expect(await ask()).toEqual({ status: 503, body: '<h1>Back at ten</h1>' });
});

test('a redirect points elsewhere', async () => {
  await follow({ redirect: { to: 'https://example.com/new' } }, 308);
});

test('without a policy the proxy behaves as before', async () => {
  await follow({}, 200);
  expect(await ask()).toEqual({ status: 200, body: 'inside' });
});
