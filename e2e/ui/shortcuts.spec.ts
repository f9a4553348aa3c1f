// Browser tests of the command palette and of shortcuts. Runs after product.spec.ts, which leaves an app.
import { expect, type Page, test } from '@playwright/test';
import { checkAppearance } from './accessibility.ts';
import { openSignedIn } from './signed-in.ts';

test.describe.configure({ mode: 'serial' });

let page: Page;

test.beforeAll(async ({ browser }) => {
  page = await openSignedIn(browser);
});
test.afterAll(() => page.context().close());

const palette = () => page.getByRole('dialog', { name: 'Search and commands' });
const field = () => palette().getByRole('combobox');
const item = (name: string) => palette().getByRole('option', { name });

test('the palette finds an app by a part of its name and opens it by keyboard', async () => {
  await page.goto('/my-organization/settings');
  await expect(page.getByRole('heading', { level: 1, name: 'Settings' })).toBeVisible();
  // The server renders “Connecting”; another status shows that the page hears keys.
  await expect(page.getByTitle(/^Control plane/)).toBeVisible();
  await page.keyboard.press('Control+k');
  await expect(field()).toBeFocused();
  await expect(item('New app')).toBeVisible();
  await field().fill('hell');
  // Enter after a name alone changes nothing.
  await expect(item('Deploy hello')).toBeVisible();
  await expect(palette().getByRole('option', { selected: true })).toHaveText(/^hello/);
  await checkAppearance(page);
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(/\/apps\/hello$/);
  await expect(palette()).toBeHidden();
});

test('it says when nothing fits, and forgets the search when it is closed', async () => {
  await page.keyboard.press('Control+k');
  await field().fill('no such thing');
  await expect(palette()).toContainText('Nothing fits “no such thing”.');
  await page.keyboard.press('Escape');
  await expect(palette()).toBeHidden();
  await page.keyboard.press('Control+k');
  await expect(field()).toHaveValue('');
  await field().fill('go domains');
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(/\/domains$/);
});

test('it deploys an app and opens the deployment', async () => {
  await page.keyboard.press('Control+k');
  await field().fill('deploy hello');
  await expect(palette().getByRole('option', { selected: true })).toContainText('Deploy hello');
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(/\/deployments\/dep_/);
  await expect(page.locator('header').first()).toContainText('Live', { timeout: 60_000 });
});

test('keys open pages, but not while a text is typed', async () => {
  await page.keyboard.press('g');
  await page.keyboard.press('a');
  await expect(page).toHaveURL(/\/apps$/);
  // The URL changes before the page has a field to search in.
  const search = page.getByRole('searchbox', { name: 'Search apps' });
  await expect(search).toBeVisible();
  await page.keyboard.press('/');
  await expect(search).toBeFocused();
  await page.keyboard.type('gs');
  await expect(search).toHaveValue('gs');
  await expect(page).toHaveURL(/\/apps(\?|$)/);
});
