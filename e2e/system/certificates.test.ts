// Tests of certificates from a real certificate authority: the quick scenarios of `npm run check:certificates`, on one server,
// and the answers before there is a certificate.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePort } from '../../tools/lib/free-ports.ts';
import { requestPinned } from '../../tools/lib/pinned-request.ts';
import { scenarios } from '../acme/scenarios.ts';
import { World } from '../acme/world.ts';
import { type AcmeFront, startAcmeFront } from './harness/acme-front.ts';
import { PROCESS_ID_APP } from './harness/apps.ts';
import { type Pebble, startPebble } from './harness/pebble.ts';
import { requestPlain } from './harness/plain-request.ts';
import { System } from './harness/system.ts';

const folder = mkdtempSync(join(tmpdir(), 'fairlead-acme-'));
let pebble: Pebble;
let front: AcmeFront;
let system: System;
let world: World;

beforeAll(async () => {
  const ports = { http: await freePort(), https: await freePort() };
  pebble = await startPebble({ folder, httpPort: ports.http, httpsPort: ports.https });
  front = await startAcmeFront(pebble, { folder });
  system = await System.start({
    ports,
    settings: {
      FAIRLEAD_ACME_DIRECTORY_URL: front.directoryUrl,
      FAIRLEAD_ACME_CA_FILE: pebble.caFile,
      FAIRLEAD_DNS_RESOLVERS: pebble.names.address,
      FAIRLEAD_OUTBOUND_ALLOW: '127.0.0.0/8',
    },
  });
  expect(await system.createApp('shop', await system.repositories.create('shop', PROCESS_ID_APP))).toMatchObject({
    state: 'live',
  });
  world = new World({
    system,
    pebble,
    front,
    ports,
    servers: [{ id: await system.serverId(), address: '127.0.0.1', agentPid: () => system.agentPid }],
    ownAddress: '127.0.0.1',
    appId: (await system.app('shop')).id,
    visit: (host) =>
      requestPinned({ host, port: ports.https, path: '/', caFile: pebble.rootFile }).then(
        ({ status }) => status,
        () => undefined,
      ),
  });
});
afterAll(async () => {
  await system?.stop();
  await front?.close();
  await pebble?.stop();
  rmSync(folder, { recursive: true });
});

/** Sends a request over plain HTTP. */
const visitPlain = (host: string) => requestPlain({ host, port: system.ports.http });

test.each(scenarios.filter(({ isQuick }) => isQuick))('$name', { timeout: 240_000 }, async ({ run }) => {
  await run(world);
});

test('plain HTTP is redirected with a certificate, and says what is missing without one', async () => {
  expect(await visitPlain('shop.example.test')).toMatchObject({ status: 308 });
  await world.attach('bare.example.test');
  await world.waitForCertificate('bare.example.test', 'a failed order', ({ failure }) => failure !== null);
  const answer = await visitPlain('bare.example.test');
  expect(answer.status).toBe(503);
  expect(answer.body).toContain('no certificate yet');
});
