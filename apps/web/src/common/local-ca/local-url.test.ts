import { expect, test } from 'vitest';
import { isLocalHttps } from './local-url.ts';

test.each([
  ['https://hello.localhost:4443/', true],
  ['http://hello.localhost:4480/', false],
  ['https://hello.example.com/', false],
  ['https://localhost.example.com/', false],
  ['not a URL', false],
  [null, false],
])('%s: %s', (url, isLocal) => expect(isLocalHttps(url)).toBe(isLocal));
