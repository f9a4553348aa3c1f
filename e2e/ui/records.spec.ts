// Browser tests of DNS records: a server's public addresses, the records to set, and states that change while one looks.
// Runs after product.spec.ts, which leaves the app.
import { expect, type Page, test } from '@playwright/test';
import { checkAppearance } from './accessibility.ts';
import { setDnsRecords } from './dns-control.ts';
import { openSignedIn } from './signed-in.ts';

test.describe.configure({ mode: 'serial' });

const APP = '/my-organization/apps/hello';
const HOST = 'shop.records.example.test';
const ADDRESS = '192.0.2.44';

let page: Page;

test.beforeAll(async ({ browser }) => {
  page = await openSignedIn(browser);
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
});
test.afterAll(() => page.context().close());

test('a public address is entered on the server’s page', async () => {
  await page.goto('/my-organization/servers');
  await page.getByRole('link', { name: 'local', exact: true }).click();
  await page.getByRole('button', { name: 'Edit addresses' }).click();
  const addresses = page.getByRole('textbox', { name: 'Addresses' });
  await addresses.fill('nowhere');
  await page.getByRole('button', { name: 'Save addresses' }).click();
  await expect(page.getByText('Enter an address such as', { exact: false })).toBeVisible();
  await addresses.fill(ADDRESS);
  await page.getByRole('button', { name: 'Save addresses' }).click();
  await expect(page.getByText(ADDRESS, { exact: true })).toBeVisible();
  await checkAppearance(page);
});

test('a new domain says that its record is missing, and names it', async () => {
  await page.goto(`${APP}/domains`);
  await page.getByRole('textbox', { name: 'Attach domain' }).fill(HOST);
  await page.getByRole('button', { name: 'Attach' }).click();
  await page.getByRole('link', { name: `Policy: ${HOST}`, exact: true }).click();
  await expect(page.getByText('Not resolving', { exact: true })).toBeVisible();
  const records = page.getByRole('region', { name: `Records of ${HOST}` });
  await expect(records.getByRole('row').filter({ hasText: ADDRESS })).toContainText('Missing');
  await records.getByRole('button', { name: `Copy value ${ADDRESS}` }).press('Enter');
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(ADDRESS);
  await checkAppearance(page);
});

test('a wrong record shows where the name leads, and the right one makes it ready without a reload', async () => {
  await setDnsRecords(HOST, [{ type: 'A', value: '198.51.100.9' }]);
  await page.getByRole('button', { name: 'Check now' }).click();
  await expect(page.getByText('Resolves elsewhere', { exact: true })).toBeVisible({ timeout: 30_000 });
  await expect(page.getByText(`${HOST} points to 198.51.100.9`, { exact: false })).toBeVisible();
  await setDnsRecords(HOST, [{ type: 'A', value: ADDRESS }]);
  await expect(page.getByText('Ready', { exact: true })).toBeVisible({ timeout: 30_000 });
  await checkAppearance(page);
});

test('the name is verified by its TXT record', async () => {
  await page.locator('summary', { hasText: 'Domain verification' }).press('Enter');
  const proof = page.getByRole('region', { name: 'Verification record' });
  await proof.getByRole('button', { name: /^Copy value fairlead-/ }).click();
  const token = await page.evaluate(() => navigator.clipboard.readText());
  await setDnsRecords(`_fairlead-challenge.${HOST}`, [{ type: 'TXT', value: token }]);
  await page.getByRole('button', { name: 'Check now' }).click();
  await expect(page.getByText('Verified', { exact: true })).toBeVisible({ timeout: 30_000 });
});

test('the list shows the state of each host', async () => {
  await page.goto('/my-organization/domains');
  await expect(page.getByRole('row').filter({ hasText: HOST })).toContainText('Ready');
  await checkAppearance(page);
});

test('a pair is attached at once, and one host redirects to the other', async () => {
  await page.goto(`${APP}/domains`);
  await page.getByRole('textbox', { name: 'Attach domain' }).fill('pair.test');
  await expect(page.getByRole('checkbox', { name: 'Also redirect www.pair.test to pair.test' })).toBeChecked();
  await page.getByRole('button', { name: 'Attach' }).click();
  await page.getByRole('link', { name: 'Has a policy: www.pair.test', exact: true }).click();
  await expect(page.getByRole('textbox', { name: 'Address', exact: true })).toHaveValue(/^https:\/\/pair\.test/);
});

test('a base domain gives the app a name', async () => {
  await page.goto('/my-organization/servers');
  await page.getByRole('link', { name: 'local', exact: true }).click();
  await page.getByRole('button', { name: 'Set base domain' }).click();
  await page.getByRole('textbox', { name: 'Base domain' }).fill('apps.records.example.test');
  await page.getByRole('button', { name: 'Save base domain' }).click();
  await expect(page.getByText('hello-production.apps.records.example.test')).toBeVisible();
  await expect(page.getByText('Each name has a certificate of its own')).toBeVisible();
  await checkAppearance(page);
  await page.goto(`${APP}/deployments`);
  await expect(page.getByText('they need a wildcard certificate')).toBeVisible();
});

test('releases have URLs below a base domain with certificates for them', async () => {
  await page.goto('/my-organization/servers');
  await page.getByRole('link', { name: 'local', exact: true }).click();
  await page.getByRole('button', { name: 'Edit base domain' }).click();
  await page.getByRole('textbox', { name: 'Base domain' }).fill('apps.localhost');
  await page.getByRole('button', { name: 'Save base domain' }).click();
  await expect(page.getByText('hello-production.apps.localhost')).toBeVisible();
  await page.goto(`${APP}/deployments`);
  const visit = page.getByRole('link', { name: /^Visit #\d/ }).first();
  await expect(visit).toHaveAttribute('href', /^http:\/\/hello-production--\d+\.apps\.localhost/);
  await checkAppearance(page);
  await page.goto(`${APP}/deployments`);
  const row = page.getByRole('row').filter({ has: page.getByRole('link', { name: /^Visit #\d/ }) });
  await row.first().getByRole('link', { name: /^#\d+/ }).click();
  await expect(page.getByRole('button', { name: 'Copy deployment URL' })).toBeVisible();
  await checkAppearance(page);
  await page.goto('/my-organization/servers');
  await page.getByRole('link', { name: 'local', exact: true }).click();
});

test('no base domain takes the name back', async () => {
  await page.getByRole('button', { name: 'Edit base domain' }).click();
  await page.getByRole('textbox', { name: 'Base domain' }).fill('');
  await page.getByRole('button', { name: 'Save base domain' }).click();
  await expect(page.getByRole('button', { name: 'Set base domain' })).toBeVisible();
});

// Later specs expect the domains and addresses of before.
test('the hosts are detached again', async () => {
  await page.goto(`${APP}/domains`);
  for (const host of [HOST, 'pair.test']) {
    await page.getByRole('button', { name: `Detach ${host}`, exact: true }).click();
    await expect(page.getByRole('button', { name: `Detach ${host}`, exact: true })).toHaveCount(0);
  }
  await page.getByRole('button', { name: 'Detach www.pair.test', exact: true }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Detach', exact: true }).click();
  await expect(page.getByRole('button', { name: 'Detach www.pair.test', exact: true })).toHaveCount(0);
});
