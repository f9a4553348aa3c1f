// Browser tests of menus, filters and toasts: late code, focus and accessibility. Runs after product.spec.ts.
import { type Browser, expect, type Page, test } from '@playwright/test';
import { checkAppearance, WIDE } from './accessibility.ts';
import { waitUntilLoaded } from './page-load.ts';
import { openSignedIn } from './signed-in.ts';

test.describe.configure({ mode: 'serial' });

const APPS = '/my-organization/apps';

let page: Page;

test.beforeAll(async ({ browser }) => {
  page = await openSignedIn(browser);
});
test.afterAll(() => page.context().close());

const account = (of: Page) =>
  of.getByRole('complementary', { name: 'Sidebar' }).getByRole('button', { name: /^Account of/ });

async function openApps(of: Page): Promise<void> {
  await of.goto(APPS);
  await waitUntilLoaded(of);
}

/** Opens the apps in a browser that gets the code of popups only when `release` is called. */
async function withLateCode(browser: Browser, work: (late: Page, release: () => void) => Promise<void>): Promise<void> {
  const late = await openSignedIn(browser);
  try {
    await late.addInitScript(() => {
      window.requestIdleCallback = () => 0;
    });
    await openApps(late);
    const held = Promise.withResolvers<void>();
    await late.route('**/_next/static/chunks/**', async (route) => {
      await held.promise;
      await route.continue();
    });
    await work(late, held.resolve);
  } finally {
    await late.context().close();
  }
}

test('a press before the code of menus has come opens the menu then', async ({ browser }) => {
  await withLateCode(browser, async (late, release) => {
    await account(late).click();
    await expect(late.getByRole('menu')).toHaveCount(0);
    release();
    await expect(late.getByRole('menuitemradio', { name: 'System theme' })).toBeFocused();
  });
});

test('a menu that comes late leaves the focus to who is elsewhere by then', async ({ browser }) => {
  await withLateCode(browser, async (late, release) => {
    await account(late).click();
    const search = late.getByRole('searchbox').filter({ visible: true }).first();
    await search.focus();
    const loaded = late.waitForResponse('**/_next/static/chunks/**');
    release();
    await loaded;
    await search.pressSequentially('hello');
    await expect(search).toHaveValue('hello');
    await expect(late.getByRole('menu')).toHaveCount(0);
  });
});

test('a menu is walked by keys, and returns the focus', async () => {
  await openApps(page);
  await account(page).press('ArrowDown');
  await expect(page.getByRole('menuitemradio', { name: 'System theme' })).toBeFocused();
  await checkAppearance(page);
  await page.setViewportSize(WIDE);
  await page.keyboard.press('End');
  await expect(page.getByRole('menuitem', { name: 'Sign out' })).toBeFocused();
  await page.keyboard.press('s');
  await expect(page.getByRole('menuitemradio', { name: 'System theme' })).toBeFocused();
  // Shortcuts of the page don't fire in a menu.
  await page.keyboard.press('?');
  await expect(page.getByRole('dialog')).toHaveCount(0);
  await page.keyboard.press('Escape');
  await expect(page.getByRole('menu')).toHaveCount(0);
  await expect(account(page)).toBeFocused();
  // A second press of the button closes.
  await account(page).click();
  await expect(page.getByRole('menu', { name: 'Account' })).toBeVisible();
  await account(page).click();
  await expect(page.getByRole('menu')).toHaveCount(0);
});

test('a filter is as accessible open as closed', async () => {
  const state = page.getByRole('button', { name: /^State:/ }).filter({ visible: true });
  await state.click();
  await expect(page.getByRole('option', { name: 'All states', exact: true })).toBeFocused();
  await checkAppearance(page);
  await page.setViewportSize(WIDE);
  await page.keyboard.press('Escape');
  await expect(page.getByRole('listbox')).toHaveCount(0);
  await expect(state).toBeFocused();
});

test('F6 leads to a toast, whose action is in reach of the keyboard', async () => {
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox', { name: 'Search and commands' }).fill('dark theme');
  await expect(page.getByRole('option', { selected: true })).toHaveText(/^Switch to the/);
  await page.keyboard.press('Enter');
  const region = page.getByRole('region', { name: 'Notifications' });
  await expect(region.getByRole('button', { name: 'Undo' })).toBeVisible();
  await page.keyboard.press('F6');
  await expect(region).toBeFocused();
  await checkAppearance(page);
  await page.setViewportSize(WIDE);
  await page.keyboard.press('Tab');
  await page.keyboard.press('Tab');
  await expect(region.getByRole('button', { name: 'Undo' })).toBeFocused();
  await page.keyboard.press('Enter');
  await expect(page.locator('html[data-theme]')).toHaveCount(0);
  await expect(region.getByRole('button', { name: 'Undo' })).toHaveCount(0);
});
