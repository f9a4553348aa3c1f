import { createSocket } from 'node:dgram';
import { createHostResolver, DnsError } from '@fairlead/outbound/host-resolver';
import { startDnsServer, type TestDnsServer } from '@fairlead/testkit/dns-server';
import { afterEach, beforeEach, expect, test } from 'vitest';

let dns: TestDnsServer;
beforeEach(async () => {
  dns = await startDnsServer();
});
afterEach(() => dns.close());

const resolver = () => createHostResolver({ servers: [dns.address] });

test('a name without records has none, and aliases are followed to their end', async () => {
  expect(await resolver().resolveHost('a.example.test')).toEqual({ addresses: [], aliases: [], caa: null });
  expect(await resolver().resolveAlias('a.example.test')).toBeNull();
  dns.set('a.example.test', [{ type: 'CNAME', value: 'b.example.test' }]);
  dns.set('b.example.test', [{ type: 'CNAME', value: 'c.example.test' }]);
  dns.set('c.example.test', [{ type: 'A', value: '8.8.4.4' }]);
  expect(await resolver().resolveHost('a.example.test')).toMatchObject({
    addresses: ['8.8.4.4'],
    aliases: ['b.example.test', 'c.example.test'],
  });
  expect(await resolver().resolveAlias('a.example.test')).toBe('c.example.test');
});

test('the climb to CAA records starts at the name of the certificate', async () => {
  // A wildcard record answers for the name that is looked up, but is not that of the certificate for `*.example.test`.
  dns.set('*.example.test', [
    { type: 'A', value: '8.8.4.4' },
    { type: 'CAA', value: 'issue other.example' },
  ]);
  dns.set('example.test', [{ type: 'CAA', value: 'issue letsencrypt.org' }]);
  const { caa } = await resolver().resolveHost('check.example.test', 'example.test');
  expect(caa).toMatchObject({ name: 'example.test', records: [{ issue: 'letsencrypt.org' }] });
});

test('a server that refuses, or never answers, tells nothing about a name', async () => {
  dns.refuse(true);
  await expect(resolver().resolveHost('a.example.test')).rejects.toMatchObject({ code: 'EREFUSED' });
  const silent = createSocket('udp4');
  await new Promise<void>((resolve) => silent.bind(0, '127.0.0.1', resolve));
  const { port } = silent.address();
  const slow = createHostResolver({ servers: [`127.0.0.1:${port}`], timeoutMs: 50 });
  await expect(slow.resolveHost('a.example.test')).rejects.toBeInstanceOf(DnsError);
  await expect(slow.resolveTexts('a.example.test')).rejects.toMatchObject({ code: 'ETIMEOUT' });
  await new Promise<void>((resolve) => silent.close(() => resolve()));
});
