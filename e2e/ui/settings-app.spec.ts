// Browser tests of an app's settings: old addresses, titles, search, the invalid field, the changes before they are
// saved, and the guard of unsaved changes. Runs after product.spec.ts, which leaves an app.
import { expect, type Page, test } from '@playwright/test';
import { checkAppearance } from './accessibility.ts';
import { waitUntilLoaded } from './page-load.ts';
import { openMember, openSignedIn } from './signed-in.ts';

test.describe.configure({ mode: 'serial' });

const APP = '/my-organization/apps/hello';
const SETTINGS = `${APP}/settings`;
const VERA = { name: 'Vera Example', email: 'vera@example.com', password: 'a splice holds the rope' };

let page: Page;

test.beforeAll(async ({ browser }) => {
  page = await openSignedIn(browser);
});
test.afterAll(() => page.context().close());

const tabs = () => page.getByRole('navigation', { name: 'App' });
const search = () => page.getByRole('combobox', { name: 'Search settings' });
const save = () => page.getByRole('button', { name: 'Save', exact: true });
const question = () => page.getByRole('dialog', { name: 'Discard unsaved changes?' });

/** Returns a function that lets the scripts of pages through. */
async function holdScripts(of: Page): Promise<() => void> {
  const { promise: released, resolve } = Promise.withResolvers<void>();
  await of.route('**/_next/static/**/*.js', async (route) => {
    await released;
    await route.continue();
  });
  return resolve;
}

test('old addresses lead to the new pages, in the same environment', async () => {
  for (const [old, now] of [
    ['/releases', '/deployments'],
    ['/config', '/settings/source'],
    ['/settings', '/settings/general'],
  ]) {
    await page.goto(`${APP}${old}?environment=env_none`);
    await expect(page).toHaveURL(new RegExp(`${APP}${now}\\?environment=env_none$`));
    await expect(page.getByRole('heading', { level: 1, name: 'hello' })).toBeVisible();
  }
  await page.goto(`${SETTINGS}/none`);
  await expect(page.getByRole('heading', { name: 'hello' })).toHaveCount(0);
});

test('each tab has a title, and none moves its neighbours when it opens', async () => {
  await page.goto(APP);
  await expect(page).toHaveTitle('hello · Fairlead');
  await expect(tabs().getByRole('link')).toHaveCount(8);
  const places = () =>
    tabs()
      .getByRole('link')
      .evaluateAll((all) => all.map((tab) => tab.getBoundingClientRect().left));
  const first = await places();
  for (const name of ['Deployments', 'Logs', 'Environment variables', 'Domains', 'Storage', 'Settings']) {
    await tabs().getByRole('link', { name, exact: true }).click();
    await expect(page).toHaveTitle(`${name} · hello · Fairlead`);
    expect(await places()).toEqual(first);
  }
  await page.getByRole('navigation', { name: 'Settings' }).getByRole('link', { name: 'Scaling' }).click();
  await expect(page).toHaveTitle('Scaling settings · hello · Fairlead');
  await expect(tabs().getByRole('link', { name: 'Settings' })).toHaveAttribute('aria-current', 'page');
});

test('what is typed and chosen before the scripts run is kept', async () => {
  const release = await holdScripts(page);
  await page.goto(`${SETTINGS}/health`, { waitUntil: 'commit' });
  await page.getByLabel('Start timeout').fill('82');
  await page.getByLabel('Liveness check').selectOption('tcp');
  await page.getByLabel('Active health checks').check();
  release();
  await expect(page.locator('footer')).toContainText('3 settings changed.');
  await expect(page.getByLabel('Start timeout')).toHaveValue('82');
  await expect(page.getByLabel('Active health checks')).toBeChecked();
  await page.getByRole('button', { name: 'Discard' }).click();
  await expect(page.getByLabel('Start timeout')).not.toHaveValue('82');
});

test('a field that the browser filled by itself changes nothing', async () => {
  const reopened = await page.context().newPage();
  // Every call of a test counts as a user's gesture, and a browser that restores fields needs none.
  await reopened.addInitScript(() => {
    Object.defineProperty(navigator, 'userActivation', { value: { hasBeenActive: false, isActive: false } });
  });
  const release = await holdScripts(reopened);
  await reopened.goto(`${SETTINGS}/health`, { waitUntil: 'commit' });
  await reopened.getByLabel('Liveness check').selectOption('tcp');
  release();
  await waitUntilLoaded(reopened);
  await expect(reopened.locator('footer')).toContainText('No changes.');
  await reopened.close();
});

test('a phone shows the current tab and section', async () => {
  await page.setViewportSize({ width: 390, height: 844 });
  await page.goto(`${SETTINGS}/danger`);
  await expect(tabs().getByRole('link', { name: 'Settings' })).toBeInViewport({ ratio: 1 });
  const section = page.getByRole('navigation', { name: 'Settings' }).getByRole('link', { name: 'Danger zone' });
  await expect(section).toBeInViewport({ ratio: 1 });
  await page.setViewportSize({ width: 1440, height: 900 });
});

test('the header leads to the app, and shows its branch and commit', async () => {
  const header = page.locator('header').first();
  await expect(header.getByRole('link', { name: /^Visit hello/ })).toHaveAttribute(
    'href',
    /^http:\/\/hello\.localhost/,
  );
  await expect(header.getByText(/^[0-9a-f]{7}$/)).toBeVisible();
});

test('a search finds a field in another section and focuses it', async () => {
  await page.goto(`${SETTINGS}/general`);
  await page.keyboard.press('/');
  await search().fill('start time');
  await expect(page.getByRole('option')).toHaveText([/^Start timeout/]);
  await checkAppearance(page);
  await search().press('Enter');
  await expect(page).toHaveURL(/\/settings\/health#start-timeout$/);
  await expect(page.getByLabel('Start timeout')).toBeFocused();
});

test('a search unfolds a field of the same section, and leads to the switch of a hidden one', async () => {
  await search().fill('health path');
  await search().press('ArrowDown');
  await search().press('ArrowUp');
  await search().press('Enter');
  await expect(page.getByLabel('Default health path')).toBeFocused();
  await search().fill('wake');
  await page.getByRole('option', { name: /^Wake timeout/ }).click();
  await expect(page).toHaveURL(/\/settings\/scaling#wake-timeout$/);
  await expect(page.getByRole('checkbox', { name: 'Autoscaling' })).toBeFocused();
  await search().fill('no such field');
  await expect(page.getByText('No setting matches.')).toBeVisible();
  await search().press('Escape');
});

test('the first invalid field is focused and named, also in a fold', async () => {
  // A click before the scripts run can be lost.
  await page.goto(`${SETTINGS}/runtime`, { waitUntil: 'networkidle' });
  const stop = page.getByLabel('Stop timeout');
  await expect(stop).toBeHidden();
  await page.getByText('Advanced', { exact: true }).click();
  await stop.fill('99999');
  await page.getByText('Advanced', { exact: true }).click();
  await expect(stop).toBeHidden();
  await save().click();
  await expect(page.getByText('1 field needs attention: Stop timeout')).toBeVisible();
  await expect(stop).toBeFocused();
  await expect(stop).toBeInViewport();
  await checkAppearance(page);
  await page.getByRole('button', { name: 'Discard' }).click();
  await expect(page.getByText('No changes.')).toBeVisible();
});

test('a worker without a name is marked in its own field', async () => {
  await page.getByRole('button', { name: 'Add worker' }).click();
  await save().click();
  await expect(page.getByText('2 fields need attention: Name, Command')).toBeVisible();
  await expect(page.getByRole('textbox', { name: 'Name', exact: true })).toBeFocused();
  await page.getByRole('button', { name: 'Discard' }).click();
});

test('changes are shown before they are saved, with when they apply', async () => {
  await page.goto(`${SETTINGS}/health`);
  await page.getByLabel('Start timeout').fill('90');
  await page.getByLabel('Consecutive failures').fill('7');
  await expect(
    page.getByText('2 settings changed. Some of it applies now, the rest with the next deployment.'),
  ).toBeVisible();
  await page.getByText('Show 2 changes').click();
  const change = (label: string) => page.locator('dl > div').filter({ hasText: label });
  await expect(change('Start timeout')).toContainText('Needs a deployment');
  await expect(change('Start timeout')).toContainText('1 m 30 s');
  await expect(change('Consecutive failures')).toContainText('Applies now');
  await checkAppearance(page);
  await save().click();
  await expect(page.getByText(/^Saved as version \d+\. Some of it applies now/)).toBeVisible();
  const waiting = page.getByText(/not live yet: [^.]*Start timeout/);
  await expect(waiting).toBeVisible();
  // An empty field has its default.
  await page.getByLabel('Start timeout').fill('');
  await page.getByLabel('Consecutive failures').fill('');
  await save().click();
  await expect(save()).toBeDisabled();
  await expect(waiting).toHaveCount(0);
});

test('unsaved changes are kept until somebody discards them', async () => {
  await page.goto(`${SETTINGS}/general`);
  await page.getByRole('navigation', { name: 'Settings' }).getByRole('link', { name: 'Runtime' }).click();
  const command = page.getByLabel('Start command', { exact: true });
  await command.fill('node unsaved.js');

  await tabs().getByRole('link', { name: 'Logs' }).click();
  await expect(question()).toBeVisible();
  await checkAppearance(page);
  await question().getByRole('button', { name: 'Cancel' }).click();
  await expect(question()).toBeHidden();

  await page.goBack();
  await expect(question()).toBeVisible();
  await question().getByRole('button', { name: 'Cancel' }).click();
  await expect(page).toHaveURL(/\/settings\/runtime$/);

  await page.getByRole('heading', { level: 1 }).click();
  await page.keyboard.press('g');
  await page.keyboard.press('s');
  await expect(question()).toBeVisible();
  await question().getByRole('button', { name: 'Cancel' }).click();
  await expect(command).toHaveValue('node unsaved.js');

  await page.goBack();
  await question().getByRole('button', { name: 'Discard changes' }).click();
  await expect(page).toHaveURL(/\/settings\/general$/);
  await expect(page.getByRole('textbox', { name: 'Name' })).toHaveValue('hello');
});

test('the browser asks before it closes a page with unsaved changes', async () => {
  await page.getByRole('textbox', { name: 'Name' }).fill('hallo');
  const asked = page.waitForEvent('dialog');
  const left = page.reload().catch((error: Error) => error.message);
  const dialog = await asked;
  expect(dialog.type()).toBe('beforeunload');
  await dialog.accept();
  await left;
  await expect(page.getByRole('textbox', { name: 'Name' })).toHaveValue('hello');
});

test('a renamed app keeps its address', async () => {
  const name = page.getByRole('textbox', { name: 'Name' });
  await name.fill('Hello there');
  await save().click();
  await expect(page.getByRole('heading', { level: 1, name: 'Hello there' })).toBeVisible();
  await name.fill('hello');
  await save().click();
  await expect(page.getByRole('heading', { level: 1, name: 'hello' })).toBeVisible();
  await expect(page).toHaveURL(/\/apps\/hello\/settings\/general$/);
});

test('a viewer reads the settings, and sees what is missing to change them', async ({ browser }) => {
  const viewer = await openMember(browser, VERA, 'viewer');
  await viewer.goto(`${SETTINGS}/runtime`);
  await expect(viewer.getByLabel('Start command', { exact: true })).toBeDisabled();
  await expect(viewer.getByText('You need the permission “Create and change apps”')).toBeVisible();
  await viewer.goto(`${SETTINGS}/danger`);
  await expect(viewer.getByText('You need the permission “Delete apps”')).toBeVisible();
  await checkAppearance(viewer);
  await viewer.context().close();
});
