// Tests that a domain's policy applies to visitors within moments and without a deployment.
import { policyInputSchema } from '@fairlead/core/traffic';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { waitFor } from '../../tools/lib/wait.ts';
import { respondingApp } from './harness/apps.ts';
import { System } from './harness/system.ts';

let system: System;
beforeAll(async () => {
  system = await System.start();
  const deployment = await system.createApp('door', await system.repositories.create('door', respondingApp('inside')));
  expect(deployment).toMatchObject({ state: 'live' });
});
afterAll(() => system?.stop());

const ask = (headers: Readonly<Record<string, string>> = {}) => system.get('door', '/', 5000, headers);
const basic = (name: string, password: string) => ({
  authorization: `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`,
});

/** Sets the policy, and waits until the proxy responds with the new status. */
async function follow(policy: object, status: number): Promise<void> {
  const [domain] = (await system.app('door')).domains;
  if (domain === undefined) throw new Error('the app has no domain');
  await system.product.verbs.updateDomainPolicy({ domainId: domain.id, policy: policyInputSchema.parse(policy) });
  await waitFor(async () => (await ask()).status === status, { what: `the status ${status}`, timeoutMs: 20_000 });
}

test('basic authentication asks for a password and accepts it', async () => {
  await follow({ basicAuth: { realm: 'Staging', users: [{ name: 'ann', password: 'correct horse' }] } }, 401);
  expect(await ask(basic('ann', 'wrong horse'))).toMatchObject({ status: 401 });
  expect(await ask(basic('ann', 'correct horse'))).toEqual({ status: 200, body: 'inside' });

  // A user who is listed again without a password keeps the stored one beside another rule.
  await follow({ basicAuth: { users: [{ name: 'ann' }] }, deny: ['192.0.2.0/24'] }, 401);
  expect(await ask(basic('ann', 'correct horse'))).toEqual({ status: 200, body: 'inside' });
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
