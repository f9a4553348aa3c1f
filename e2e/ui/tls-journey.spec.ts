// Browser journey of a domain: it is added, its record is set, its state turns ready, and a visitor who trusts only the
// authority's root verifies its chain. Runs after product.spec.ts, which leaves the app.
import { expect, type Page, test } from '@playwright/test';
import { ADA, type Dashboard, signIn } from '../../tools/lib/dashboard-client.ts';
import { requestPinned } from '../../tools/lib/pinned-request.ts';
import { setDnsRecords } from './dns-control.ts';
import { openSignedIn } from './signed-in.ts';

test.describe.configure({ mode: 'serial' });

const ORGANIZATION = 'my-organization';
const APP = `/${ORGANIZATION}/apps/hello`;
const HOST = 'shop.journey.example.test';
const ADDRESS = '127.0.0.1';

let page: Page;
let ada: Dashboard;

test.beforeAll(async ({ browser }) => {
  page = await openSignedIn(browser);
  ada = await signIn(process.env.FAIRLEAD_E2E_URL ?? '', ADA);
  await setAddresses([ADDRESS]);
});
// Later specs expect the addresses of before.
test.afterAll(async () => {
  await setAddresses([]);
  await page.context().close();
});

async function setAddresses(addresses: readonly string[]): Promise<void> {
  const { items } = await ada.query<{ items: { id: string; isLocal: boolean }[] }>('server.list', ORGANIZATION, {});
  const serverId = items.find(({ isLocal }) => isLocal)?.id;
  await ada.call('server.updateAddresses', { serverId, addresses }, ORGANIZATION);
}

/** Returns the status for a visitor who trusts only the authority's root; undefined if the chain is refused. */
const visit = () =>
  requestPinned({
    host: HOST,
    port: Number(process.env.FAIRLEAD_E2E_HTTPS_PORT),
    path: '/',
    caFile: process.env.FAIRLEAD_E2E_ACME_ROOT ?? '',
  }).then(
    ({ status }) => status,
    () => undefined,
  );

test('a domain turns ready and gets a certificate that a visitor verifies, without a reload', async () => {
  // Orders wait for their turn on a busy machine.
  test.setTimeout(240_000);
  await page.goto(`${APP}/domains`);
  await page.getByRole('textbox', { name: 'Attach domain' }).fill(HOST);
  await page.getByRole('button', { name: 'Attach' }).click();
  await page.getByRole('link', { name: `Policy: ${HOST}`, exact: true }).click();
  await expect(page.getByText('Not resolving', { exact: true })).toBeVisible();
  await setDnsRecords(HOST, [{ type: 'A', value: ADDRESS }]);
  const setAt = performance.now();
  const elapsed = () => `${((performance.now() - setAt) / 1000).toFixed(1)} s`;
  await expect(page.getByText('Ready', { exact: true })).toBeVisible({ timeout: 60_000 });
  const ready = elapsed();
  await expect(page.getByText('Issued', { exact: true })).toBeVisible({ timeout: 60_000 });
  await expect.poll(visit, { timeout: 30_000 }).toBe(200);
  console.log(`after its record was set, the domain was ready in ${ready} and verified by chain in ${elapsed()}`);
});

test('the domain is detached again', async () => {
  await page.goto(`${APP}/domains`);
  await page.getByRole('button', { name: `Detach ${HOST}`, exact: true }).click();
  await expect(page.getByRole('button', { name: `Detach ${HOST}`, exact: true })).toHaveCount(0);
});
