// Browser tests of the command palette and of shortcuts. Runs after product.spec.ts, which leaves an app.
import { expect, type Page, test } from '@playwright/test';
import { checkAppearance } from './accessibility.ts';
import { openSignedIn } from './signed-in.ts';

test.describe.configure({ mode: 'serial' });

const ORGANIZATION = '/my-organization';

let page: Page;

test.beforeAll(async ({ browser }) => {
  page = await openSignedIn(browser);
});
test.afterAll(() => page.context().close());

const palette = () => page.getByRole('dialog', { name: 'Search and commands' });
const field = () => palette().getByRole('combobox');
const option = (name: string | RegExp) => palette().getByRole('option', { name });
const selected = () => palette().getByRole('option', { selected: true });

/** The server renders "connecting": another state shows that the page hears keys. */
async function openSettings(): Promise<void> {
  await page.goto(`${ORGANIZATION}/settings`);
  await expect(page.locator('[data-connection="idle"]')).toBeVisible();
}

async function openPalette(search = ''): Promise<void> {
  await page.keyboard.press('Control+k');
  await expect(field()).toBeFocused();
  if (search !== '') await field().fill(search);
}

test('a page without a live stream shows no connection state', async () => {
  await openSettings();
  await expect(page.getByText('Live updates')).toHaveCount(0);
  await page.goto(ORGANIZATION);
  await expect(page.getByTitle('Live updates')).toBeVisible();
});

test('Enter on an app opens its second level, where opening it comes first', async () => {
  await openSettings();
  await openPalette();
  await expect(selected()).toHaveText(/^Overview/);
  // The selection stays where it is while apps arrive.
  await expect(option(/^hello/).first()).toBeVisible();
  await expect(selected()).toHaveText(/^Overview/);
  await field().fill('hell');
  await expect(selected()).toHaveText(/^hello/);
  await checkAppearance(page);
  await page.keyboard.press('Enter');
  await expect(selected()).toHaveText('Open');
  for (const name of ['Logs', 'Environment variables', 'Deploy…', 'Restart…']) await expect(option(name)).toBeVisible();
  await checkAppearance(page);
  // Backspace leads back.
  await page.keyboard.press('Backspace');
  await expect(selected()).toHaveText(/^Overview/);
  await field().fill('hello');
  await expect(selected()).toHaveText(/^hello/);
  await page.keyboard.press('Enter');
  await expect(selected()).toHaveText('Open');
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(/\/apps\/hello$/);
  await expect(palette()).toBeHidden();
});

for (const [search, title] of [
  ['audit', /^Audit log/],
  ['token', /^API tokens/],
  ['logs', /^Logs of an app…/],
  ['restart', /^Restart an app…/],
  ['rollback', /^Roll back an app…/],
  ['secret', /^Environment variables of an app…/],
  ['invite', /^Invite members/],
  ['environments', /^Environments/],
  ['backups', /^Backups/],
  ['containers', /^Containers/],
  ['hello logs', /^hello › Logs/],
  ['hello.localhost', /^hello/],
  ['local', /^local/],
] as const) {
  test(`“${search}” finds what it means`, async () => {
    await openPalette(search);
    await expect(selected()).toHaveText(title);
    await page.keyboard.press('Escape');
    await expect(palette()).toBeHidden();
  });
}

test('a section of a settings page opens at its place', async () => {
  await openPalette('data key');
  await expect(selected()).toHaveText(/^Data key/);
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(/\/settings\/organization#encryption$/);
  await expect(page.locator('#encryption')).toBeInViewport();
});

test('a deployment is found by its id and by its number', async () => {
  await openPalette('hello #1');
  await expect(selected()).toHaveText(/^hello #1(?!\d)/);
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(/\/deployments\/dep_/);
  const id = page.url().split('/').at(-1) ?? '';
  await openSettings();
  await openPalette(id);
  await expect(selected()).toHaveText(new RegExp(`^Open deployment ${id}`));
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(new RegExp(id));
});

test('it says when nothing matches, and forgets the search when it is closed', async () => {
  await openPalette('no such thing');
  await expect(palette()).toContainText('No results for “no such thing”');
  await page.keyboard.press('Escape');
  await expect(palette()).toBeHidden();
  await openPalette();
  await expect(field()).toHaveValue('');
  await field().fill('domains');
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(/\/domains$/);
});

test('a deployment is asked for before it begins', async () => {
  await openPalette('deploy hello');
  await expect(selected()).toHaveText(/^Deploy hello…/);
  await page.keyboard.press('Enter');
  await expect(selected()).toHaveText('Deploy to Production');
  await option('Cancel').click();
  await expect(page).toHaveURL(/\/domains$/);
  await field().fill('deploy hello');
  await expect(selected()).toHaveText(/^Deploy hello…/);
  await page.keyboard.press('Enter');
  await expect(selected()).toHaveText('Deploy to Production');
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(/\/deployments\/dep_/);
  // While it runs, the browser tab says so, and afterwards it doesn't.
  await expect(page).toHaveTitle(/^[●○] .+ · hello #\d+$/);
  await expect(page.locator('header').first()).toContainText('Live', { timeout: 60_000 });
  await expect(page).toHaveTitle(/^hello #\d+ · Fairlead$/);
});

test('the theme is switched with a way back', async () => {
  await openPalette('dark theme');
  await expect(selected()).toHaveText(/^Switch to the (light|dark) theme/);
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Undo' }).click();
  await expect(page.locator('html[data-theme]')).toHaveCount(0);
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

test("the platform's own key is shown, and help leads to shortcuts, documentation and changelog", async () => {
  await openSettings();
  const sidebar = page.getByRole('complementary', { name: 'Sidebar' });
  await expect(sidebar.locator('kbd').first()).toHaveText('Ctrl');
  await sidebar.getByRole('button', { name: 'Help' }).click();
  await page.getByRole('menuitem', { name: 'Keyboard shortcuts' }).click();
  const shortcuts = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
  await expect(shortcuts.locator('kbd').first()).toHaveText('Ctrl');
  await page.keyboard.press('Escape');
  await sidebar.getByRole('button', { name: 'Help' }).click();
  await page.getByRole('menuitem', { name: "What's new" }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'Changelog' })).toBeVisible();
  await page.getByRole('navigation', { name: 'Documentation' }).getByRole('link', { name: 'Configure builds' }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'Configure builds' })).toBeVisible();
});

test('on a phone, search, account and the open tab are in reach', async ({ browser }) => {
  const phone = await openSignedIn(browser, { viewport: { width: 390, height: 844 } });
  try {
    await phone.goto(`${ORGANIZATION}/apps/hello/settings`);
    await expect(phone.getByTitle('Live updates')).toBeAttached();
    const tabs = phone.getByRole('navigation', { name: 'App', exact: true });
    await expect(tabs.locator('[aria-current="page"]')).toBeInViewport({ ratio: 1 });
    const bar = phone.getByRole('navigation', { name: 'Main, bottom' });
    await bar.getByRole('button', { name: 'Search' }).click();
    await expect(phone.getByRole('dialog', { name: 'Search and commands' })).toBeVisible();
    await phone.keyboard.press('Escape');
    await bar.getByRole('button', { name: 'More' }).click();
    await expect(phone.getByRole('menuitem', { name: 'Benchmarks' })).toBeVisible();
    await phone.getByRole('menuitem', { name: 'Your account' }).click();
    await expect(phone.getByRole('heading', { level: 1, name: 'Your account' })).toBeVisible();
  } finally {
    await phone.context().close();
  }
});
