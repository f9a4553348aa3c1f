// Browser tests of links that lead nowhere, of links through sign-in, and of the forms on their way. Runs after
// product.spec.ts.
import { expect, type Page, test } from '@playwright/test';
import { ADA } from '../../tools/lib/dashboard-client.ts';
import { checkAppearance } from './accessibility.ts';
import { openMember, openSignedIn } from './signed-in.ts';

const ORGANIZATION = '/my-organization';
const LINUS = { name: 'Linus', email: 'linus@example.test', password: 'rope and ring and rail' };

let page: Page;

test.beforeAll(async ({ browser }) => {
  page = await openSignedIn(browser);
});
test.afterAll(() => page.context().close());

const heading = (where: Page, name: string) => where.getByRole('heading', { level: 1, name });

for (const path of [
  '/no/such/page',
  '/servers/nonsense',
  '/deployments/nonsense',
  '/benchmarks/nonsense',
  '/domains/nonsense',
  '/certificates/nonsense',
  '/deliveries/nonsense',
  '/apps/Not%20a%20slug',
]) {
  test(`${path} of an organization is a page that is not found, with the navigation`, async () => {
    await page.goto(`${ORGANIZATION}${path}`);
    await expect(heading(page, 'Page not found')).toBeVisible();
    await expect(page).toHaveTitle(/not found/i);
    await expect(page.getByRole('navigation', { name: 'Main', exact: true })).toBeVisible();
    await expect(page.getByRole('link', { name: 'Go to the overview' })).toBeVisible();
  });
}

test('an organization that is not there has the logo and a way on', async () => {
  const response = await page.goto('/no-such-organization/apps');
  expect(response?.status()).toBe(404);
  await expect(heading(page, 'Page not found')).toBeVisible();
  await expect(page).toHaveTitle('Page not found · Fairlead');
  await checkAppearance(page);
  await page.goto('/no-such-organization/apps/hello/settings/source');
  await expect(page).toHaveTitle('Page not found · Fairlead');
  await page.getByRole('link', { name: 'Fairlead, home' }).click();
  await expect(heading(page, 'Overview')).toBeVisible();
});

test('a page that the role does not include says so', async ({ browser }) => {
  const viewer = await openMember(browser, LINUS, 'viewer');
  try {
    for (const path of ['/settings/audit', '/settings/control-plane']) {
      await viewer.goto(`${ORGANIZATION}${path}`);
      await expect(heading(viewer, "You don't have access")).toBeVisible();
      await expect(viewer.getByRole('button', { name: 'Try again' })).toHaveCount(0);
      await expect(viewer.getByRole('navigation', { name: 'Main', exact: true })).toBeVisible();
    }
    await checkAppearance(viewer);
  } finally {
    await viewer.context().close();
  }
});

for (const target of [`${ORGANIZATION}/apps/hello?range=24h`, `${ORGANIZATION}/deployments?state=failed#top`]) {
  test(`sign-in leads to ${target}, query and fragment included`, async ({ browser }) => {
    const context = await browser.newContext({ baseURL: process.env.FAIRLEAD_E2E_URL ?? '' });
    const guest = await context.newPage();
    try {
      await guest.goto(target);
      await expect(guest).toHaveURL(/\/sign-in\?next=/);
      await expect(guest.getByLabel('Email')).toBeFocused();
      await guest.getByLabel('Email').fill(ADA.email);
      await guest.getByLabel('Password').fill(ADA.password);
      await guest.getByRole('button', { name: /^Show/ }).click();
      await expect(guest.getByLabel('Password')).toHaveAttribute('type', 'text');
      await guest.getByRole('button', { name: 'Sign in', exact: true }).click();
      await expect(guest).toHaveURL(`${process.env.FAIRLEAD_E2E_URL}${target}`);
    } finally {
      await context.close();
    }
  });
}

test('used and incomplete links say what to do', async ({ browser }) => {
  const context = await browser.newContext({ baseURL: process.env.FAIRLEAD_E2E_URL ?? '' });
  const guest = await context.newPage();
  try {
    await guest.goto('/invitation#token=used');
    await expect(heading(guest, 'This invitation no longer works')).toBeVisible();
    await expect(guest.getByRole('link', { name: 'Sign in' })).toHaveAttribute('href', '/sign-in');
    await checkAppearance(guest);
    await guest.goto('/reset-password#token=used');
    await expect(guest.getByLabel('New password')).toBeFocused();
    await guest.getByRole('button', { name: 'Set password' }).click();
    await expect(guest.getByText('Enter a new password.')).toBeVisible();
    await expect(guest.getByLabel('New password')).toBeFocused();
    await guest.getByLabel('New password').fill('a long enough password');
    await guest.getByRole('button', { name: 'Set password' }).click();
    await expect(heading(guest, 'This link was used or has expired')).toBeVisible();
    await expect(guest.getByRole('link', { name: 'Request a new link' })).toBeVisible();
    await guest.goto('/verify-email');
    await expect(heading(guest, 'This link is incomplete')).toBeVisible();
  } finally {
    await context.close();
  }
});

test("a local address comes with its root's download, until the person trusts it", async () => {
  await page.goto(`${ORGANIZATION}/apps/hello`);
  await expect(page.locator('header').first().getByRole('button', { name: 'Trust local HTTPS' })).toBeVisible();
  await checkAppearance(page);
  await page.goto(`${ORGANIZATION}/apps/hello/deployments`);
  await page.getByRole('main').locator('a[href*="/deployments/dep_"]').first().click();
  // The app's header has a button of the same name, and goes away with its page.
  await page.waitForURL(/\/deployments\/dep_/);
  await page.getByRole('main').getByRole('button', { name: 'Trust local HTTPS' }).click();
  const dialog = page.getByRole('dialog', { name: 'Trust local HTTPS' });
  const download = page.waitForEvent('download');
  await dialog.getByRole('link', { name: 'PEM' }).click();
  expect((await download).suggestedFilename()).toBe('fairlead-local.pem');
  await dialog.getByText('Debian, Ubuntu').click();
  await expect(dialog).toContainText('update-ca-certificates');
  await checkAppearance(page);
  await dialog.getByRole('button', { name: 'I trust it now' }).click();
  const overHttps = page.getByRole('link', { name: 'Open over HTTPS' });
  await expect(overHttps).toHaveAttribute('href', /^https:\/\/hello\.localhost:\d+\/$/);
  await page.reload();
  await expect(overHttps).toBeVisible();
  await expect(page.getByRole('button', { name: 'Trust local HTTPS' })).toHaveCount(0);
});
