import { expect, test } from 'vitest';
import { domainUrl, isReservedHost } from './index.ts';
import { hostSchema } from './schema.ts';

test('a host is a name or a wildcard, lower-cased', () => {
  expect(hostSchema.parse('*.Example.com')).toBe('*.example.com');
  expect(hostSchema.parse(' Shop.Example.COM ')).toBe('shop.example.com');
  expect(hostSchema.parse('hello.localhost')).toBe('hello.localhost');
  expect(hostSchema.parse('xn--bcher-kva.example')).toBe('xn--bcher-kva.example');
});

test.each([
  '',
  'localhost',
  'https://shop.example.com',
  'shop.example.com/path',
  'shop.example.com:443',
  '*',
  '*.localhost',
  '*.*.example.com',
  'shop.*.com',
  'sh*p.example.com',
  '*.10.0.0.1',
  'shop..example.com',
  '-shop.example.com',
  'shop-.example.com',
  'sh_op.example.com',
  'shop.example.com.',
  '10.0.0.1',
  '[::1]',
  'shop.exa mple.com',
  'shop.example.com\n',
  'bücher.example',
  `${'a'.repeat(64)}.example.com`,
  `${'a.'.repeat(130)}com`,
])('%j is no host', (host) => {
  expect(hostSchema.safeParse(host.endsWith('\n') ? `${host}x y` : host).success).toBe(false);
});

test('a domain of the local server carries its port, unless it is the usual one, and a local name opens over HTTP', () => {
  const hello = { host: 'hello.localhost', pathPrefix: '/' };
  const api = { host: 'shop.example.com', pathPrefix: '/api' };
  const own = { localHttpsPort: 4443, localHttpPort: 4480 };
  const usual = { localHttpsPort: 443, localHttpPort: 80 };
  expect(domainUrl(api, true, own)).toBe('https://shop.example.com:4443/api');
  expect(domainUrl(api, true, usual)).toBe('https://shop.example.com/api');
  expect(domainUrl(api, false, own)).toBe('https://shop.example.com/api');
  expect(domainUrl(hello, true, own)).toBe('http://hello.localhost:4480');
  expect(domainUrl(hello, true, usual)).toBe('http://hello.localhost');
  expect(domainUrl(hello, false, own)).toBe('http://hello.localhost');
});

test("the control plane's hosts are nobody's, nor what lies below the one that its proxy serves", () => {
  const policy = { controlHost: 'fairlead.localhost', publicHost: 'panel.example.com' };
  for (const host of ['fairlead.localhost', 'x.fairlead.localhost', 'a.b.fairlead.localhost', 'panel.example.com'])
    expect(isReservedHost(host, policy), host).toBe(true);
  for (const host of ['hello.localhost', 'notfairlead.localhost', 'x.panel.example.com', 'example.com'])
    expect(isReservedHost(host, policy), host).toBe(false);
  expect(isReservedHost('hello.localhost', { controlHost: '', publicHost: 'localhost' })).toBe(false);
});
