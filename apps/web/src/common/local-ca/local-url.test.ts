import { expect, test } from 'vitest';
import { isLocalUrl, localHttpsUrl } from './local-url.ts';

test.each([
  ['https://hello.localhost:4443/', true],
  ['http://hello.localhost:4480/', true],
  ['https://hello.example.com/', false],
  ['https://localhost.example.com/', false],
  ['not a URL', false],
  [null, false],
])('%s: %s', (url, isLocal) => expect(isLocalUrl(url)).toBe(isLocal));

test('the same address over HTTPS has its own port, unless it is the usual one', () => {
  expect(localHttpsUrl('http://hello.localhost:4480/api', 4443)).toBe('https://hello.localhost:4443/api');
  expect(localHttpsUrl('http://hello.localhost', 443)).toBe('https://hello.localhost/');
});
