import { expect, test } from 'vitest';
import { refusedConnections } from './refused-connections.ts';

const hosts = (...lines: string[]) => refusedConnections(lines).map(({ host }) => host);

test.each([
  ['Node', 'npm error Error: getaddrinfo ENOTFOUND fonts.googleapis.com', 'fonts.googleapis.com'],
  ['Node of a private network', 'Error: getaddrinfo EAI_AGAIN binaries.prisma.sh', 'binaries.prisma.sh'],
  ['git', "fatal: unable to access 'https://github.com/a/b/': Could not resolve host: github.com", 'github.com'],
  ['Go', 'dial tcp: lookup storage.example.net on 10.0.0.1:53: no such host', 'storage.example.net'],
  ['urllib3', "Failed to resolve 'objects.example.net' ([Errno -2] Name or service not known)", 'objects.example.net'],
  [
    'Next.js',
    'request to https://fonts.gstatic.com/s/inter failed, reason: connect ETIMEDOUT 1.2.3.4:443',
    'fonts.gstatic.com',
  ],
  [
    'the agent',
    "Wanted Python 3.13 of .python-version; github.com can't be reached, so this server's Python 3.11.2 runs it.",
    'github.com',
  ],
  ['curl', 'curl: (7) Failed to connect to https://get.example.org/x: Connection refused', 'get.example.org'],
])('a refused connection is found in the words of %s', (_, line, host) => {
  expect(refusedConnections(['before', line, 'after'])).toEqual([{ host, line }]);
});

test('the address may be in a line before the reason', () => {
  expect(hosts('error: Failed to fetch: `https://github.com/a/b.whl`', '  Caused by: dns error')).toEqual([
    'github.com',
  ]);
});

test('Node prints the host some lines below the code', () => {
  expect(hosts("  code: 'ENOTFOUND',", "  syscall: 'getaddrinfo',", "  hostname: 'deno.land'")).toEqual(['deno.land']);
});

test('a host is listed once, with the first line that names it', () => {
  const lines = ['first: getaddrinfo ENOTFOUND github.com', 'again: getaddrinfo ENOTFOUND github.com'];
  expect(refusedConnections(lines)).toEqual([{ host: 'github.com', line: lines[0] }]);
});

test.each([
  ['a registry', 'npm error getaddrinfo ENOTFOUND registry.npmjs.org'],
  ['another registry', 'dial tcp: lookup proxy.golang.org on 10.0.0.1:53: no such host'],
  ['an address', 'Error: connect ECONNREFUSED 127.0.0.1:5432'],
  ['this machine', 'request to http://db.localhost:80 failed, reason: ECONNREFUSED'],
  ['a name without a domain', 'Error: getaddrinfo ENOTFOUND postgres'],
  ['telemetry', 'getaddrinfo ENOTFOUND telemetry.nextjs.org'],
  ['a mere address', 'See https://nextjs.org/docs/messages/no-cache'],
  ['another failure', 'error TS2304: Cannot find name https://example.net'],
])('%s does not count', (_, line) => {
  expect(refusedConnections([line])).toEqual([]);
});
