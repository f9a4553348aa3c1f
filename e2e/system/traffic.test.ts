// Tests of load balancing and proxy settings: changes apply to visitors within moments and without a deployment.
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { appTrafficSchema, policyInputSchema, proxySettingsSchema } from '@fairlead/core/traffic';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { waitFor } from '../../tools/lib/wait.ts';
import { PROCESS_ID_APP } from './harness/apps.ts';
import { System } from './harness/system.ts';

let system: System;
beforeAll(async () => {
  system = await System.start();
  const deployment = await system.createApp('pair', await system.repositories.create('pair', PROCESS_ID_APP));
  expect(deployment).toMatchObject({ state: 'live' });
  const { id: appId } = await system.app('pair');
  await system.product.verbs.scaleApp({ appId, instances: 2 });
});
afterAll(() => system?.stop());

const send = (headers: Readonly<Record<string, string>> = {}) => system.getResponse('pair', '/', headers);
const pidOf = ({ body }: { readonly body: string }) => body.split(' ')[0];

async function update(traffic: object): Promise<void> {
  const { id: appId } = await system.app('pair');
  await system.product.verbs.updateConfig({ appId, settings: { traffic: appTrafficSchema.parse(traffic) } });
}

/** Requests without a cookie go round robin, on each core separately. */
async function pidsOf(headers: Readonly<Record<string, string>> = {}): Promise<ReadonlySet<string | undefined>> {
  const pids = new Set<string | undefined>();
  for (let count = 0; count < availableParallelism() * 2 + 2; count += 1) pids.add(pidOf(await send(headers)));
  return pids;
}

test('a sticky-session cookie keeps a visitor on one of two instances', async () => {
  await update({ loadBalancing: 'round_robin', stickySessions: { kind: 'cookie', name: 'pair' } });
  const cookie = await waitFor(async () => (await send()).headers['set-cookie']?.[0]?.match(/^pair=[^;]+/)?.[0], {
    what: 'a cookie',
    timeoutMs: 20_000,
  });
  await waitFor(async () => (await pidsOf()).size === 2, { what: 'two instances that serve', timeoutMs: 60_000 });
  expect((await pidsOf({ cookie })).size).toBe(1);
});

test('without a queue, requests above the limit are refused with Retry-After', async () => {
  await update({ inFlightPerApp: 1, queueLengthMax: 0 });
  await waitFor(async () => (await send()).headers['set-cookie'] === undefined, {
    what: 'the bounds in place of the cookie',
    timeoutMs: 20_000,
  });
  // More requests than cores, so that at least one core gets two; the app answers none before `/free`.
  let settled = 0;
  const held = Array.from({ length: availableParallelism() + 1 }, () =>
    system.getResponse('pair', '/held').finally(() => {
      settled += 1;
    }),
  );
  const first = await Promise.any(held);
  expect(first.status).toBe(503);
  expect(first.headers['retry-after']).toMatch(/^\d+$/);

  // Round robin, because least-loaded would send every `/free` to the idle instance.
  await update({ loadBalancing: 'round_robin' });
  await waitFor(
    async () => {
      await system.getResponse('pair', '/free');
      return settled === held.length;
    },
    { what: 'the requests that were held', timeoutMs: 20_000 },
  );
  expect((await Promise.all(held)).map(({ status }) => status)).toContain(200);
});

test('the client address from a trusted proxy is accepted, and every request is logged as configured', async () => {
  const forwarded = { 'x-forwarded-for': '198.51.100.7' };
  const clientOf = async () => (await send(forwarded)).body.split(' ')[1];
  expect(await clientOf()).toBe('127.0.0.1');
  const proxy = proxySettingsSchema.parse({
    trustedProxies: ['127.0.0.0/8'],
    accessLog: { format: 'combined', samplePermille: 1000 },
  });
  await system.product.verbs.updateProxy({ serverId: await system.serverId(), proxy });
  await waitFor(async () => (await clientOf())?.startsWith('198.51.100.7'), {
    what: 'the address that the proxy in front tells',
    timeoutMs: 20_000,
  });
  const log = join(system.agentFolder, 'logs/access.log');
  await waitFor(() => /^198\.51\.100\.7 - - \[.+\] "GET \/ HTTP\/1\.1" 200 /m.test(readFileSync(log, 'utf8')), {
    what: 'the request in the combined format',
    timeoutMs: 20_000,
  });
});

test('a path of a host routes to another app, and the first app gets none of its requests', async () => {
  const { state } = await system.createApp('api', await system.repositories.create('api', PROCESS_ID_APP));
  expect(state).toBe('live');
  const { id: appId } = await system.app('api');
  const domain = await system.product.verbs.attachDomain(
    { appId, host: 'pair.localhost', pathPrefix: '/api' },
    { localHttpsPort: 443, localHttpPort: 80, controlHost: '', publicHost: '' },
  );
  const policy = policyInputSchema.parse({ stripPrefix: true });
  await system.product.verbs.updateDomainPolicy({ domainId: domain.id, policy });
  const urlOf = async (path: string) => (await system.getResponse('pair', path)).body.split(' ').at(-1);
  await waitFor(async () => (await urlOf('/api/x?y=1')) === '/x?y=1', {
    what: 'the other app behind the path',
    timeoutMs: 20_000,
  });
  const [own] = (await system.getResponse('api', '/')).body.split(' ');
  expect(pidOf(await system.getResponse('pair', '/api'))).toBe(own);
  expect(await urlOf('/apix')).toBe('/apix');
  expect(pidOf(await system.getResponse('pair', '/apix'))).not.toBe(own);
});
