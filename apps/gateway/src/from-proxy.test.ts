// Tests of client addresses: no client can make the gateway believe a header, whatever it does to its connection.
import { execFileSync } from 'node:child_process';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { clientAddress, clientNetwork, isFromProxy } from './from-proxy.ts';

const forged = '203.0.113.66';

let arrive: (request: IncomingMessage) => void;
const server = createServer((request, response) => {
  arrive(request);
  response.end();
});
server.on('upgrade', (request, socket) => {
  arrive(request);
  socket.on('error', () => {});
  socket.end('HTTP/1.1 503 Service Unavailable\r\n\r\n');
});
let port: number;
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  ({ port } = server.address() as AddressInfo);
});
afterAll(() => server.close());

/**
 * Sends a request from another process while this one can't accept, and reads it when it arrives; `end` is what the client
 * does to its connection before.
 */
async function receive<T>(
  headers: string,
  end: 'destroySoon' | 'resetAndDestroy',
  read: (request: IncomingMessage) => T,
): Promise<T> {
  const head = `GET /agent HTTP/1.1\r\nHost: gateway\r\n${headers}\r\n`;
  const arrived = Promise.withResolvers<T>();
  arrive = (request) => arrived.resolve(read(request));
  execFileSync(process.execPath, [
    '--eval',
    `const socket = require('node:net').connect(${port}, '127.0.0.1');
     socket.on('error', () => {});
     socket.write(${JSON.stringify(head)}, () => socket.${end}());`,
  ]);
  return arrived.promise;
}

const upgrade = 'Connection: Upgrade\r\nUpgrade: websocket\r\n';

test.each(['', upgrade])('a client that resets its connection passes for no proxy (%j)', async (kind) => {
  const read = await receive(`X-Forwarded-For: ${forged}\r\n${kind}`, 'resetAndDestroy', (request) => [
    // The kernel has forgotten the address by now, as it never knew one of a Unix socket.
    request.socket.remoteAddress,
    isFromProxy(request),
    clientAddress(request, []),
    clientAddress(request, ['127.0.0.1', '0.0.0.0/0', '::/0']),
    clientNetwork(request, []),
  ]);
  expect(read).toEqual([undefined, false, null, null, null]);
});

test('the header of a trusted proxy is believed from the right, and nobody else’s', async () => {
  const header = `X-Forwarded-For: ${forged}, 2001:db8:0:7:1::9\r\n`;
  const read = await receive(`${header}${upgrade}`, 'destroySoon', (request) => [
    clientAddress(request, []),
    clientAddress(request, ['10.0.0.0/8']),
    clientAddress(request, ['127.0.0.0/8']),
    clientNetwork(request, ['127.0.0.0/8']),
    // A reverse proxy on this machine that is not named as trusted hides its clients.
    clientNetwork(request, []),
  ]);
  expect(read).toEqual([null, null, '2001:db8:0:7:1::9', '2001:db8:0:7', null]);
});
