// Tests of certificates from a real certificate authority: issue, wrong DNS and recovery, answers before there is one.
import { mkdtempSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DomainId } from '@fairlead/contract/ids';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePort } from '../../tools/lib/free-ports.ts';
import { requestPinned } from '../../tools/lib/pinned-request.ts';
import { waitFor } from '../../tools/lib/wait.ts';
import { PROCESS_ID_APP } from './harness/apps.ts';
import { type Pebble, startPebble } from './harness/pebble.ts';
import { System } from './harness/system.ts';

const folder = mkdtempSync(join(tmpdir(), 'fairlead-acme-'));
let lostId: DomainId;
let pebble: Pebble;
let system: System;

beforeAll(async () => {
  const httpPort = await freePort();
  pebble = await startPebble({ folder, httpPort });
  system = await System.start({
    ports: { http: httpPort },
    settings: { FAIRLEAD_ACME_DIRECTORY_URL: pebble.directoryUrl, FAIRLEAD_ACME_CA_FILE: pebble.caFile },
  });
  expect(await system.createApp('shop', await system.repositories.create('shop', PROCESS_ID_APP))).toMatchObject({
    state: 'live',
  });
});
afterAll(async () => {
  await system?.stop();
  await pebble?.stop();
  rmSync(folder, { recursive: true });
});

const hosts = { localHttpsPort: 443, controlHost: '', publicHost: '' };
const attach = async (host: string) =>
  system.product.verbs.attachDomain({ appId: (await system.app('shop')).id, host, pathPrefix: '/' }, hosts);

const visit = (host: string) =>
  requestPinned({ host, port: system.ports.https, path: '/', caFile: pebble.rootFile }).catch(() => undefined);

/** Sends a request over plain HTTP. */
function visitPlain(host: string, path = '/'): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port: system.ports.http, path, headers: { host }, agent: false };
    const sent = request(options, (response) => {
      let body = '';
      response.on('data', (chunk) => {
        body += String(chunk);
      });
      response.once('end', () => resolve({ status: response.statusCode ?? 0, body }));
    });
    sent.once('error', reject);
    sent.end();
  });
}

const certificate = async (host: string) =>
  (await system.product.verbs.listCertificates({ limit: 10 })).items.find((one) => one.host === host);

test('a public host gets a certificate that a visitor verifies', async () => {
  await pebble.setAddresses('shop.example.test', ['127.0.0.1']);
  await attach('shop.example.test');
  const response = await waitFor(() => visit('shop.example.test'), { what: 'HTTPS', timeoutMs: 60_000 });
  expect(response.status).toBe(200);
  expect(await visitPlain('shop.example.test')).toMatchObject({ status: 308 });
  expect(await certificate('shop.example.test')).toMatchObject({ state: 'issued', failure: null });
});

test('a name that does not resolve fails with the reason, and plain HTTP says what is missing', async () => {
  ({ id: lostId } = await attach('lost.example.test'));
  const failed = await waitFor(
    async () => {
      const found = await certificate('lost.example.test');
      return found?.failure === null ? undefined : found;
    },
    { what: 'a failed order', timeoutMs: 60_000 },
  );
  expect(failed).toMatchObject({ state: 'failed', failure: { code: 'certificate.unreachable' } });
  expect(failed?.nextAttemptAt).toBeInstanceOf(Date);
  const answer = await visitPlain('lost.example.test');
  expect(answer.status).toBe(503);
  expect(answer.body).toContain('no certificate yet');
});

test('once the record is right, an order on demand succeeds', async () => {
  await pebble.setAddresses('lost.example.test', ['127.0.0.1']);
  // A person may order again a minute after a failure; this test does not wait for it.
  await system.asSystem(({ tx }) =>
    tx.certificate.updateMany({ where: { host: 'lost.example.test' }, data: { failedAt: new Date(0) } }),
  );
  await system.product.verbs.retryCertificate({ domainId: lostId });
  await waitFor(() => visit('lost.example.test'), { what: 'HTTPS', timeoutMs: 60_000 });
});
