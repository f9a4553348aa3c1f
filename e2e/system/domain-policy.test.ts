// What a person sets for a domain is what its visitors meet, a moment later and without a deployment.
import { policyInputSchema } from '@fairlead/core/traffic';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { waitFor } from '../../tools/lib/wait.ts';
import { answering } from './harness/apps.ts';
import { System } from './harness/system.ts';

let system: System;
beforeAll(async () => {
  system = await System.start();
  const deployment = await system.createApp('door', await system.repositories.create('door', answering('inside')));
  expect(deployment).toMatchObject({ state: 'live' });
});
afterAll(() => system?.stop());

const ask = (headers: Readonly<Record<string, string>> = {}) => system.get('door', '/', 5000, headers);
const basic = (name: string, password: string) => ({
  authorization: `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`,
});

/** Sets it, and waits until the door answers otherwise than before. */
async function follow(policy: object, status: number): Promise<void> {
  const [domain] = (await system.app('door')).domains;
  if (domain === undefined) throw new Error('the app has no domain');
  await system.product.verbs.updateDomainPolicy({ domainId: domain.id, policy: policyInputSchema.parse(policy) });
  await waitFor(async () => (await ask()).status === status, { what: `the status ${status}`, timeoutMs: 20_000 });
}

test('a password is asked for, and opens', async () => {
  await follow({ basicAuth: { realm: 'Staging', users: [{ name: 'ann', password: 'correct horse' }] } }, 401);
  expect(await ask(basic('ann', 'wrong horse'))).toMatchObject({ status: 401 });
  expect(await ask(basic('ann', 'correct horse'))).toEqual({ status: 200, body: 'inside' });

  // Named again without a password, she keeps hers beside another rule.
  await follow({ basicAuth: { users: [{ name: 'ann' }] }, deny: ['192.0.2.0/24'] }, 401);
  expect(await ask(basic('ann', 'correct horse'))).toEqual({ status: 200, body: 'inside' });
});

test('addresses are turned away, and the app never hears of them', async () => {
  await follow({ deny: ['127.0.0.0/8'] }, 403);
});

test('a page stands in for the app while it is worked on', async () => {
  await follow({ maintenance: { body: '<h1>Back at ten</h1>' } }, 503);
  expect(await ask()).toEqual({ status: 503, body: '<h1>Back at ten</h1>' });
});

test('a redirect leads elsewhere', async () => {
  await follow({ redirect: { to: 'https://example.com/new' } }, 308);
});

test('without a policy the door is as it was', async () => {
  await follow({}, 200);
  expect(await ask()).toEqual({ status: 200, body: 'inside' });
});
