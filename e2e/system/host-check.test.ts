// Tests of host names on a real server: a missing record, its state, the record, and ready; a redirected host; names below a
// base domain.
import { hostStateSchema } from '@fairlead/core/host';
import { startDnsServer, type TestDnsServer } from '@fairlead/testkit/dns-server';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { answerPinned } from '../../tools/lib/pinned-request.ts';
import { waitFor } from '../../tools/lib/wait.ts';
import { PROCESS_ID_APP } from './harness/apps.ts';
import { System } from './harness/system.ts';

const HOST = 'shop.example.test';
const ADDRESS = '192.0.2.44';

let dns: TestDnsServer;
let system: System;
beforeAll(async () => {
  dns = await startDnsServer();
  system = await System.start({ settings: { FAIRLEAD_DNS_RESOLVERS: dns.address } });
  expect(await system.createApp('shop', await system.repositories.create('shop', PROCESS_ID_APP))).toMatchObject({
    state: 'live',
  });
});
afterAll(async () => {
  await system?.stop();
  await dns?.close();
});

const serverId = async () => {
  const [server] = (await system.product.verbs.listServers()).items;
  if (server === undefined) throw new Error('there is no server');
  return server.id;
};

const firstDomain = async () => {
  const [domain] = (await system.app('shop')).domains;
  if (domain === undefined) throw new Error('the app has no domain');
  return domain;
};

const attach = async (host: string, redirectTo?: string) => {
  const { id: appId } = await system.app('shop');
  const input = { appId, host, pathPrefix: '/', ...(redirectTo === undefined ? {} : { redirectTo }) };
  return system.product.verbs.attachDomain(input, {
    localHttpsPort: system.ports.https,
    localHttpPort: system.ports.http,
    controlHost: '',
    publicHost: '',
  });
};

test('a host goes from a missing record to ready when its record is set', async () => {
  await system.product.verbs.updateAddresses({ serverId: await serverId(), addresses: [ADDRESS] });
  const { id: domainId } = await attach(HOST);
  const state = (wanted: string) =>
    waitFor(
      async () => {
        const host = await system.product.verbs.getHost({ domainId });
        return host?.state === hostStateSchema.parse(wanted) ? host : undefined;
      },
      { what: `the state ${wanted}`, timeoutMs: 60_000 },
    );
  expect((await state('not_resolving')).records).toMatchObject([{ type: 'A', name: 'shop', value: ADDRESS }]);
  dns.set(HOST, [{ type: 'A', value: ADDRESS }]);
  expect((await state('ready')).records).toMatchObject([{ isSet: true }]);
});

/** Sends a request over HTTPS to the local server's proxy. */
const visit = (host: string, path: string) =>
  answerPinned({ host, port: system.ports.https, path, caFile: system.caFile }).catch(() => undefined);

test('a redirected host leads to its target with path and query', async () => {
  const { host } = await firstDomain();
  await attach('www.shop.localhost', host);
  const redirected = async () => {
    const response = await visit('www.shop.localhost', '/a/b?c=d');
    return response?.status === 308 ? response : undefined;
  };
  const response = await waitFor(redirected, { what: 'a redirect', timeoutMs: 30_000 });
  expect(response.headers.location).toBe(`http://${host}:${system.ports.http}/a/b?c=d`);
});

test('an app gets a name below the base domain of its server, without a deployment', async () => {
  const config = { controlHost: '', publicHost: '' };
  await system.product.verbs.updateBaseDomain({ serverId: await serverId(), baseDomain: 'apps.localhost' }, config);
  const answered = async () => (await visit('shop-production.apps.localhost', '/'))?.status === 200 || undefined;
  await waitFor(answered, { what: 'HTTPS', timeoutMs: 30_000 });
});
