// Tests of the dashboard's own domain on a real product: its certificate from a real authority, the switch of its links, and
// that no address before it is lost.
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DashboardDomains } from '@fairlead/core/dashboard-domain';
import { PORTS } from '@fairlead/settings';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ADA, claimSetup, type Dashboard, openSession, signIn } from '../../tools/lib/dashboard-client.ts';
import { freePorts } from '../../tools/lib/free-ports.ts';
import { requestPinned } from '../../tools/lib/pinned-request.ts';
import { type RunningProduct, startProduct } from '../../tools/lib/running-product.ts';
import { waitFor } from '../../tools/lib/wait.ts';
import { AGENT_BINARY } from './harness/assemble.ts';
import { type Pebble, startPebble } from './harness/pebble.ts';

const SETTINGS_HOST = 'first.example.test';
const HOST = 'panel.example.test';
const ADDRESS = '127.0.0.1';

const folder = mkdtempSync(join(tmpdir(), 'fairlead-domain-'));
let ports: Awaited<ReturnType<typeof freePorts>>;
let pebble: Pebble;
let product: RunningProduct;
let ada: Dashboard;
let organization: string;

const urlOf = (host: string) => `https://${host}:${ports.https}`;
/** The control socket believes X-Forwarded-For only from the proxy, so the test comes in where the proxy does. */
const entranceAt = (host: string) => ({ url: `http://127.0.0.1:${ports.web}`, origin: urlOf(host), headers: {} });
const ownAuthority = () => join(folder, 'data/agent/control-ca', SETTINGS_HOST, 'ca.pem');

function start(): Promise<RunningProduct> {
  return startProduct({
    args: [
      ...['--data', join(folder, 'data'), '--public-url', urlOf(SETTINGS_HOST)],
      ...PORTS.flatMap(({ name, option }) => [`--${option}`, String(ports[name])]),
    ],
    data: join(folder, 'data'),
    ports,
    agent: AGENT_BINARY,
    env: {
      FAIRLEAD_ACME_DIRECTORY_URL: pebble.directoryUrl,
      FAIRLEAD_ACME_CA_FILE: pebble.caFile,
      FAIRLEAD_DNS_RESOLVERS: pebble.names.address,
    },
  });
}

beforeAll(async () => {
  chmodSync(folder, 0o711);
  ports = await freePorts();
  pebble = await startPebble({ folder: join(folder, 'pebble'), httpPort: ports.http, httpsPort: ports.https });
  product = await start();
  organization = await claimSetup(entranceAt(SETTINGS_HOST), product.setupToken ?? '', ADA);
  ada = await signIn(entranceAt(SETTINGS_HOST), ADA);
  const { items } = await ada.query<{ items: { id: string }[] }>('server.list', organization, {});
  await ada.call('server.updateAddresses', { serverId: items[0]?.id, addresses: [ADDRESS] }, organization);
}, 600_000);
afterAll(async () => {
  await product?.stop();
  await pebble?.stop();
  rmSync(folder, { recursive: true });
});

const list = () => ada.query<DashboardDomains>('dashboardDomain.list', organization);
const visit = (host: string, caFile: string) =>
  requestPinned({ host, port: ports.https, path: '/healthz', caFile }).then(
    ({ status }) => status,
    () => undefined,
  );

async function addDomain(host: string): Promise<void> {
  await ada.call('dashboardDomain.add', { host }, organization);
  await pebble.names.setAddresses(host, [ADDRESS]);
  await waitFor(async () => (await list()).items.some((domain) => domain.host === host && domain.answeredAt !== null), {
    what: `an answer of ${host}`,
    timeoutMs: 120_000,
  });
}

test('links lead to a domain once it answers with its certificate, and its forerunner keeps working', async () => {
  expect(await list()).toMatchObject({
    reach: 'served',
    publicUrl: urlOf(SETTINGS_HOST),
    suggestedHost: SETTINGS_HOST,
    items: [],
  });
  await expect(openSession(entranceAt(HOST), ADA)).rejects.toThrow('403');
  await addDomain(HOST);
  expect((await list()).publicUrl).toBe(urlOf(HOST));
  expect([await visit(HOST, pebble.rootFile), await visit(SETTINGS_HOST, ownAuthority())]).toEqual([200, 200]);
  await waitFor(() => openSession(entranceAt(HOST), ADA).catch(() => undefined), {
    what: `a sign-in at ${HOST}`,
    timeoutMs: 10_000,
  });
  await openSession(entranceAt(SETTINGS_HOST), ADA);
  const { url } = await ada.call<{ url: string }>('invitation.create', { role: 'viewer' }, organization);
  expect(url).toContain(`${urlOf(HOST)}/invitation#token=`);
}, 240_000);

test("the settings' own domain gets a certificate too, and the next start accepts it", async () => {
  await addDomain(SETTINGS_HOST);
  await waitFor(async () => (await visit(SETTINGS_HOST, pebble.rootFile)) === 200, {
    what: `a certificate of ${SETTINGS_HOST}`,
    timeoutMs: 30_000,
  });
  await product.stop();
  product = await start();
  ada = await signIn(entranceAt(HOST), ADA);
  expect(await visit(HOST, pebble.rootFile)).toBe(200);
}, 300_000);

test('a removed domain no longer answers, and links lead to the one before it', async () => {
  for (const { id } of (await list()).items)
    await ada.call('dashboardDomain.delete', { dashboardDomainId: id }, organization);
  expect((await list()).publicUrl).toBe(urlOf(SETTINGS_HOST));
  await waitFor(async () => (await visit(HOST, pebble.rootFile)) !== 200, {
    what: `no answer of ${HOST}`,
    timeoutMs: 30_000,
  });
  await waitFor(async () => (await visit(SETTINGS_HOST, ownAuthority())) === 200, {
    what: 'the own authority',
    timeoutMs: 30_000,
  });
  await expect(openSession(entranceAt(HOST), ADA)).rejects.toThrow('403');
}, 120_000);
