// Browser tests of the account's region format and time zone. Runs after product.spec.ts and leaves the account as it was.
import { expect, type Page, test } from '@playwright/test';
import { ADA, signIn } from '../../tools/lib/dashboard-client.ts';
import { checkAppearance } from './accessibility.ts';
import { waitUntilLoaded } from './page-load.ts';
import { openSignedIn } from './signed-in.ts';

test.describe.configure({ mode: 'serial' });

const ORGANIZATION = '/my-organization';
const UTC_LINE = /\n\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$/;
const GERMAN_IN_KOLKATA = /^\d\d\.\d\d\.\d{4}, \d\d:\d\d:\d\d GMT\+5:30\n/;

let page: Page;
/** Includes what React reports when server and browser render different texts. */
const consoleErrors: string[] = [];

test.beforeAll(async ({ browser }) => {
  page = await openSignedIn(browser, { locale: 'en-US', timezoneId: 'America/New_York' });
  page.on('pageerror', (error) => consoleErrors.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error') consoleErrors.push(message.text());
  });
});
test.afterAll(async () => {
  await page.context().close();
  const ada = await signIn(process.env.FAIRLEAD_E2E_URL ?? '', ADA);
  await ada.call('account.update', { locale: null, timeZone: null });
});

const firstTime = () => page.getByRole('main').locator('time').first();

test('without a choice, times are in the zone of the browser, from the first page on', async () => {
  await page.goto(`${ORGANIZATION}/deployments`);
  await expect(firstTime()).toHaveAttribute('title', /[AP]M E[SD]T\n/);
  await expect(firstTime()).toHaveAttribute('title', UTC_LINE);
  await page.reload();
  await expect(firstTime()).toHaveAttribute('title', /[AP]M E[SD]T\n/);
  expect(consoleErrors).toEqual([]);
});

test('a chosen region format and time zone show an example before they are saved', async () => {
  await page.goto('/account');
  await page.getByLabel('Region format').selectOption({ label: 'Deutsch (Deutschland)' });
  await page.getByLabel('Time zone').selectOption('Asia/Kolkata');
  await expect(page.getByText(/Example: 1\.234\.567,89 · .*GMT\+5:30/)).toBeVisible();
  await checkAppearance(page);
  const card = page.locator('section').filter({ has: page.getByLabel('Region format') });
  await card.getByRole('button', { name: 'Save' }).click();
  await expect(page.getByText('Language and region saved')).toBeVisible();
  await expect(page.getByRole('main').locator('time[title]').first()).toHaveAttribute('title', GERMAN_IN_KOLKATA);
});

test('all pages then show numbers and times so, as the server renders them', async () => {
  await page.getByRole('link', { name: 'Back to the dashboard' }).click();
  await expect(firstTime()).toHaveAttribute('title', GERMAN_IN_KOLKATA);
  await expect(firstTime()).toHaveAttribute('title', UTC_LINE);
  await page.goto(`${ORGANIZATION}/servers`);
  await expect(page.getByRole('main')).toContainText(/\d [KMGT]iB/);
  await expect(page.getByRole('main')).not.toContainText(/\d\.\d+ [KMGT]iB/);
  const rendered = await page.request.get(`${ORGANIZATION}/deployments`);
  expect(await rendered.text()).toMatch(/title="\d\d\.\d\d\.\d{4}, \d\d:\d\d:\d\d GMT\+5:30/);
  expect(consoleErrors).toEqual([]);
});

test('the days of a filter are those of the time zone', async () => {
  await page.goto(`${ORGANIZATION}/settings/audit`);
  // Keys typed before the page hears them are lost.
  await waitUntilLoaded(page);
  await page.getByLabel('From (day)').fill('2026-01-02');
  await expect(page.getByRole('link', { name: 'CSV', exact: true })).toHaveAttribute(
    'href',
    /from=2026-01-01T18%3A30%3A00\.000Z/,
  );
  await page.reload();
  await expect(page.getByLabel('From (day)')).toHaveValue('2026-01-02');
  await expect(page.getByRole('status').filter({ hasText: /event/ })).toBeVisible();
  expect(consoleErrors).toEqual([]);
});
