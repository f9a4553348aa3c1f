import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import { afterAll, afterEach, expect, test } from 'vitest';
import { askHttpPort, askTlsPort } from './ports.ts';

const check = { name: 'a1b2.fairlead-check.invalid', answer: Buffer.alloc(32, 7).toString('base64url') };
const folder = mkdtempSync(join(tmpdir(), 'fairlead-ports-'));
afterAll(() => rmSync(folder, { recursive: true }));

let server: Server | undefined;
afterEach(() => new Promise<void>((resolve) => (server === undefined ? resolve() : server.close(() => resolve()))));

async function listen(next: Server) {
  server = next;
  await new Promise<void>((resolve) => next.listen(0, '127.0.0.1', resolve));
  return { address: '127.0.0.1', port: (next.address() as AddressInfo).port };
}

/** Certificate of a challenge with these bytes (RFC 8737, section 3). */
function certificateWith(answer: Buffer) {
  const files = ['-keyout', join(folder, 'key.pem'), '-out', join(folder, 'cert.pem')];
  const form = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-subj', '/CN=x'];
  const identifier = `1.3.6.1.5.5.7.1.31=critical,DER:0420${answer.toString('hex')}`;
  execFileSync('openssl', [...form, ...files, '-addext', identifier], { stdio: 'ignore' });
  const [key, cert] = ['key.pem', 'cert.pem'].map((name) => readFileSync(join(folder, name)));
  return { key, cert, ALPNProtocols: ['acme-tls/1'] };
}

test('over HTTP, only a proxy that knows name and answer is one', async () => {
  const token = (url = '') => url.slice(url.lastIndexOf('/') + 1);
  const asked: string[] = [];
  const cases: [RequestListener, string][] = [
    [
      ({ headers, url }, response) => {
        asked.push(token(url));
        response.end(headers.host === check.name ? `${token(url)}.${check.answer}` : '');
      },
      'proxy',
    ],
    [({ url }, response) => response.end(`${token(url)}.another`), 'other'],
    [({ url, headers }, response) => response.end(`${url} ${JSON.stringify(headers)}`), 'other'],
    [(_, response) => response.writeHead(301, { location: 'https://example.com/' }).end(), 'other'],
    [(_, response) => response.end('x'.repeat(10_000)), 'other'],
    [(request) => request.socket.destroy(), 'other'],
  ];
  for (const [respond, expected] of cases) {
    const at = await listen(createHttpServer(respond));
    expect(await askHttpPort(at, check), String(respond)).toBe(expected);
    await new Promise((resolve) => server?.close(resolve));
  }
  const at = await listen(createHttpServer(cases[0]?.[0]));
  await askHttpPort(at, check);
  // An answer can't be replayed: each question has a token of its own.
  expect(new Set(asked).size).toBe(2);
});

test('over TLS, only the certificate with the answer is a proxy’s', async () => {
  const own = await listen(createTlsServer(certificateWith(Buffer.from(check.answer, 'base64url'))));
  expect(await askTlsPort(own, check)).toBe('proxy');
  await new Promise((resolve) => server?.close(resolve));
  const others = await listen(createTlsServer(certificateWith(Buffer.alloc(32, 8))));
  expect(await askTlsPort(others, check)).toBe('other');
  await new Promise((resolve) => server?.close(resolve));
  const plain = await listen(
    createServer((socket) =>
      socket
        .on('error', () => undefined)
        .resume()
        .end('220 mail\r\n'),
    ),
  );
  expect(await askTlsPort(plain, check)).toBe('other');
});

test('a port without a program is closed', async () => {
  const at = await listen(createServer());
  await new Promise((resolve) => server?.close(resolve));
  expect([await askHttpPort(at, check), await askTlsPort(at, check)]).toEqual(['none', 'none']);
});
