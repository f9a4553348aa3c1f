// Tests of questions to a certificate authority about renewals (RFC 9773).
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readRenewalInfo } from './acme.ts';

const folder = mkdtempSync(join(tmpdir(), 'fairlead-acme-'));
const [start, end] = ['2026-12-01T00:00:00Z', '2026-12-03T00:00:00Z'];
let server: Server;
let url: string;
let caPem: string;
let hasRenewals = true;
beforeAll(async () => {
  const files = ['-keyout', join(folder, 'key.pem'), '-out', join(folder, 'cert.pem')];
  const form = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-subj', '/CN=x'];
  execFileSync('openssl', [...form, ...files, '-addext', 'subjectAltName=IP:127.0.0.1'], { stdio: 'ignore' });
  caPem = readFileSync(join(folder, 'cert.pem'), 'utf8');
  server = createServer({ key: readFileSync(join(folder, 'key.pem')), cert: caPem }, (request, response) => {
    if (request.url === '/dir')
      return void response.end(JSON.stringify(hasRenewals ? { renewalInfo: `${url}/ari` } : {}));
    const answers: Record<string, () => void> = {
      '/ari/a.b': () => {
        response.setHeader('retry-after', '3600');
        response.end(JSON.stringify({ suggestedWindow: { start, end } }));
      },
      '/ari/no.pause': () => response.end(JSON.stringify({ suggestedWindow: { start, end } })),
      '/ari/turned.around': () => response.end(JSON.stringify({ suggestedWindow: { start: end, end: start } })),
      '/ari/no.window': () => response.end('{}'),
    };
    const answer = answers[request.url ?? ''];
    if (answer === undefined) response.writeHead(404).end('{}');
    else answer();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  await new Promise((resolve) => server.close(resolve));
  rmSync(folder, { recursive: true });
});

test('windows are read in the order of the questions, and an invalid one is none', async () => {
  const window = { start: new Date(start), end: new Date(end) };
  const identifiers = ['a.b', 'un.known', 'no.pause', 'turned.around', 'no.window'];
  expect(await readRenewalInfo({ url: `${url}/dir`, caPem }, identifiers)).toEqual([
    { ...window, retryAfterMs: 3_600_000 },
    null,
    { ...window, retryAfterMs: null },
    null,
    null,
  ]);
});

test('an authority without renewal information, or without an answer, names no window', async () => {
  hasRenewals = false;
  expect(await readRenewalInfo({ url: `${url}/dir`, caPem }, ['a.b'])).toEqual([]);
  expect(await readRenewalInfo({ url: 'https://127.0.0.1:1/dir', caPem }, ['a.b'])).toEqual([]);
});
