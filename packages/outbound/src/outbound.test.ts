import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { createAddressGuard } from './addresses.ts';
import { createOutbound, OutboundError } from './outbound.ts';

let server: Server;
let port: number;
const asked: string[] = [];

beforeAll(async () => {
  server = createServer((request, response) => {
    asked.push(`${request.headers.host} ${request.url}`);
    if (request.url === '/away') response.writeHead(302, { location: 'http://169.254.169.254/latest/meta-data' });
    if (request.url === '/large') response.write(Buffer.alloc(3000));
    if (request.url !== '/silent') response.end('hello');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  port = (server.address() as AddressInfo).port;
});
afterAll(() => server.closeAllConnections());

test.each([
  ['93.184.215.14', true],
  ['2606:2800:21f:cb07:6820:80da:af6b:8b2c', true],
  ['::ffff:93.184.215.14', true],
  ['127.0.0.1', false],
  ['127.8.8.8', false],
  ['0.0.0.0', false],
  ['10.1.2.3', false],
  ['100.64.0.1', false],
  ['169.254.169.254', false],
  ['172.31.255.255', false],
  ['192.168.0.1', false],
  ['224.0.0.1', false],
  ['255.255.255.255', false],
  ['::', false],
  ['::1', false],
  ['::ffff:127.0.0.1', false],
  ['::ffff:7f00:1', false],
  ['64:ff9b::7f00:1', false],
  ['2002:7f00:1::', false],
  ['fe80::1', false],
  ['fd00:ec2::254', false],
  ['ff02::1', false],
  ['not an address', false],
])('%s may be called: %s', (address, allowed) => expect(createAddressGuard([])(address)).toBe(allowed));

test('only addresses that the operator opened may be called', () => {
  const mayCall = createAddressGuard(['10.0.0.0/24', 'fd00::5']);
  expect(['10.0.0.9', '10.0.1.9', 'fd00::5', 'fd00::6', '::ffff:10.0.0.9'].map(mayCall)).toEqual([
    true,
    false,
    true,
    false,
    true,
  ]);
});

test('a name that resolves to this machine is refused in any spelling, without a request', async () => {
  const outbound = createOutbound({ allowed: [], resolve: async () => [{ address: '127.0.0.1', family: 4 }] });
  for (const host of [
    'git.example.test',
    '127.0.0.1',
    '127.1',
    '2130706433',
    '0x7f.1',
    '[::1]',
    '[::ffff:127.0.0.1]',
  ]) {
    await expect(outbound.get(`http://${host}:${port}/`), host).rejects.toMatchObject({ code: 'refused_address' });
  }
  expect(asked).toEqual([]);
});

test('the connection goes to the address that was judged, whatever the name says a moment later', async () => {
  const answers = [['127.0.0.1'], ['10.9.9.9']];
  const resolve = async () => (answers.shift() ?? []).map((address) => ({ address, family: 4 }));
  const outbound = createOutbound({ allowed: ['127.0.0.1'], resolve });
  const response = await outbound.get(`http://git.example.test:${port}/repository`);
  expect(response.status).toBe(200);
  expect(Buffer.from(response.body).toString()).toBe('hello');
  expect(asked).toEqual([`git.example.test:${port} /repository`]);
  expect(answers).toHaveLength(1);
});

test('a redirect is answered, not followed', async () => {
  const outbound = createOutbound({ allowed: ['127.0.0.1'] });
  expect((await outbound.get(`http://127.0.0.1:${port}/away`)).status).toBe(302);
});

test('a too large response, a timeout and an unreachable host are errors', async () => {
  const outbound = createOutbound({ allowed: ['127.0.0.1'], bodyBytesMax: 2000, timeoutMs: 300 });
  await expect(outbound.get(`http://127.0.0.1:${port}/large`)).rejects.toMatchObject({ code: 'too_large' });
  await expect(outbound.get(`http://127.0.0.1:${port}/silent`)).rejects.toMatchObject({ code: 'unreachable' });
  await expect(outbound.get('http://127.0.0.1:1/')).rejects.toMatchObject({ code: 'unreachable' });
});

test('a refusal by a second copy of this package is recognised, and no other error is', async () => {
  vi.resetModules();
  const copy = await import('./outbound.ts');
  expect(copy.OutboundError).not.toBe(OutboundError);
  const refused = await copy
    .createOutbound({ allowed: [] })
    .get('http://127.0.0.1/')
    .catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(OutboundError);
  for (const other of [new Error('refused_address'), { code: 'refused_address' }, null]) {
    expect(other instanceof OutboundError).toBe(false);
  }
});
