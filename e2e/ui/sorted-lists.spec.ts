// Browser tests of lists: filters and sort orders in the URL, columns, the menu of a row, and a restart of several apps.
// Runs after product.spec.ts, which leaves a live app.
import { mkdirSync } from 'node:fs';
import { expect, type Page, test } from '@playwright/test';
import { ADA, type Dashboard, signIn } from '../../tools/lib/dashboard-client.ts';
import { checkAppearance } from './accessibility.ts';
import { chooseFilter } from './list-filters.ts';
import { openSignedIn } from './signed-in.ts';

test.describe.configure({ mode: 'serial' });

const ORGANIZATION = 'my-organization';
const APPS = `/${ORGANIZATION}/apps`;
const DEPLOYMENTS = `/${ORGANIZATION}/deployments`;
const DRAFT = 'aardvark';

let page: Page;
let ada: Dashboard;
let draftId = '';

test.beforeAll(async ({ browser }) => {
  page = await openSignedIn(browser);
  ada = await signIn(process.env.FAIRLEAD_E2E_URL ?? '', ADA);
  const { items } = await ada.query<{ items: { id: string; name: string }[] }>('server.list', ORGANIZATION);
  const draft = {
    name: DRAFT,
    source: { kind: 'git', repositoryUrl: 'https://git.example.test/aardvark.git' },
    serverIds: [items.find(({ name }) => name === 'local')?.id],
    firstDeploy: 'none',
  };
  ({ id: draftId } = await ada.call<{ id: string }>('app.create', draft, ORGANIZATION));
});
test.afterAll(async () => {
  await ada.call('app.delete', { appId: draftId, confirmName: DRAFT }, ORGANIZATION);
  await ada.call('app.purge', { appId: draftId, confirmName: DRAFT }, ORGANIZATION);
  await page.context().close();
});

const rowsOf = (of: Page) => of.getByRole('row').filter({ hasNot: of.getByRole('columnheader') });
const row = (name: string) => rowsOf(page).filter({ has: page.getByRole('link', { name, exact: true }) });
const filter = (name: string) => page.getByRole('button', { name: new RegExp(`^${name}: `) }).filter({ visible: true });

/** Keeps a picture for people who review the design. */
async function keepPicture(name: string): Promise<void> {
  const folder = process.env.FAIRLEAD_E2E_SHOTS;
  if (folder === undefined) return;
  mkdirSync(folder, { recursive: true });
  for (const [scheme, width] of [
    ['light', 1440],
    ['dark', 1440],
    ['light', 390],
    ['dark', 390],
  ] as const) {
    await page.emulateMedia({ colorScheme: scheme });
    await page.setViewportSize({ width, height: 900 });
    await page.screenshot({ path: `${folder}/${name}-${scheme}-${width}.png` });
  }
  await page.setViewportSize({ width: 1440, height: 900 });
}

test('apps are filtered by keyboard, and the URL restores the filter', async () => {
  await page.goto(APPS);
  await expect(row(DRAFT)).toContainText('Not deployed');
  await expect(page.getByText(/^\d+ apps$/)).toBeVisible();
  await keepPicture('apps');
  await filter('State').press('Enter');
  await page.getByRole('listbox', { name: 'State' }).press('n');
  await page.keyboard.press('Enter');
  await expect(filter('State')).toBeFocused();
  await expect(page).toHaveURL(/state=not_deployed/);
  await expect(row('hello')).toHaveCount(0);
  await expect(row(DRAFT)).toBeVisible();
  await page.reload();
  await expect(filter('State')).toHaveAccessibleName('State: Not deployed');
  await expect(row('hello')).toHaveCount(0);
  await checkAppearance(page);
});

test('a list that filters empty names them, and clears them at once', async () => {
  await page.getByRole('searchbox', { name: 'Search apps' }).fill('zzz');
  await expect(page.getByRole('heading', { name: 'No apps match these filters' })).toBeVisible();
  await expect(page.getByText('Search: “zzz”')).toBeVisible();
  await expect(page.getByText('State: Not deployed', { exact: true }).last()).toBeVisible();
  await checkAppearance(page);
  await keepPicture('apps-none');
  await page.getByRole('link', { name: 'Clear filters' }).last().click();
  await expect(row('hello')).toBeVisible();
  await expect(page).toHaveURL(new RegExp(`${APPS}$`));
  await expect(page.getByRole('searchbox', { name: 'Search apps' })).toHaveValue('');
});

test('a column head sorts in both directions, and the URL keeps the order', async () => {
  const names = () =>
    rowsOf(page)
      .getByRole('link', { name: /^(?:aardvark|hello)$/ })
      .allTextContents();
  await expect.poll(names).toEqual([DRAFT, 'hello']);
  await page.getByRole('button', { name: 'App', exact: true }).click();
  await expect.poll(names).toEqual(['hello', DRAFT]);
  await expect(page.getByRole('columnheader', { name: 'App', exact: true })).toHaveAttribute('aria-sort', 'descending');
  await page.getByRole('button', { name: 'Last deployment' }).press('Enter');
  await expect(page).toHaveURL(/sort=last_deployment$/);
  await page.reload();
  await expect.poll(names).toEqual(['hello', DRAFT]);
  await chooseFilter(page, 'Sort', 'Name');
  await expect.poll(names).toEqual([DRAFT, 'hello']);
});

test('the browser keeps the chosen columns', async () => {
  await page.getByRole('button', { name: 'Columns' }).click();
  await page.getByRole('checkbox', { name: 'Server' }).check();
  await page.getByRole('checkbox', { name: 'p99' }).uncheck();
  await page.keyboard.press('Escape');
  await page.reload();
  await expect(page.getByRole('columnheader', { name: 'Server' })).toBeVisible();
  await expect(page.getByRole('columnheader', { name: 'p99' })).toHaveCount(0);
  await page.getByRole('button', { name: 'Columns' }).click();
  await page.getByRole('checkbox', { name: 'Server' }).uncheck();
  await page.getByRole('checkbox', { name: 'p99' }).check();
  await page.keyboard.press('Escape');
});

test('a row has a menu with the actions of its app', async () => {
  await page.getByRole('button', { name: 'Actions for hello' }).press('ArrowDown');
  const menu = page.getByRole('menu', { name: 'Actions for hello' });
  await expect(menu.getByRole('menuitem', { name: 'Restart' })).toBeVisible();
  await expect(menu.getByRole('menuitem', { name: 'Logs' })).toBeVisible();
  await checkAppearance(page);
  await keepPicture('apps-menu');
  await menu.getByRole('menuitem', { name: 'Deployments' }).click();
  await expect(page).toHaveURL(/\/apps\/hello\/deployments/);
});

test('several apps restart with a result each, and one failure does not stop the others', async () => {
  await page.goto(APPS);
  await page.getByRole('checkbox', { name: `Select ${DRAFT}` }).check();
  await page.getByRole('checkbox', { name: 'Select hello' }).check();
  const selected = page.getByRole('region', { name: 'Selected apps' });
  await expect(selected).toContainText('2 apps selected');
  await selected.getByRole('button', { name: 'Restart' }).click();
  const dialog = page.getByRole('dialog', { name: 'Restart 2 apps' });
  await expect(dialog.getByRole('listitem')).toHaveText([/aardvark/, /hello/]);
  await checkAppearance(page);
  await dialog.getByRole('button', { name: 'Restart 2 apps' }).click();
  await expect(dialog.getByRole('listitem').filter({ hasText: DRAFT })).toContainText('Failed');
  await expect(dialog.getByRole('listitem').filter({ hasText: 'hello' })).toContainText('Restart requested');
  await expect(dialog).toContainText('Requested for 1 app, failed for 1.');
  await checkAppearance(page);
  await keepPicture('restart');
  await dialog.getByRole('button', { name: 'Done' }).click();
  await expect(selected).toHaveCount(0);
});

test('deployments show their branch, are filtered by several values, and have a menu', async () => {
  await page.goto(DEPLOYMENTS);
  await expect(rowsOf(page).filter({ hasText: 'Branch' }).first()).toBeVisible();
  await keepPicture('deployments');
  await filter('App').click();
  await page.getByRole('combobox', { name: 'Search app' }).fill('hel');
  await page.getByRole('option', { name: 'hello', exact: true }).click();
  await chooseFilter(page, 'State', 'Succeeded');
  await expect(page).toHaveURL(/app=app_.*state=live|state=live.*app=app_/);
  await page.reload();
  await expect(filter('App')).toHaveAccessibleName('App: hello');
  await expect(rowsOf(page).first()).toContainText('hello');
  await checkAppearance(page);
  await page
    .getByRole('button', { name: /^Actions for hello #/ })
    .first()
    .click();
  await expect(page.getByRole('menuitem', { name: 'Redeploy', exact: true })).toBeVisible();
  await page.keyboard.press('Escape');
  await page.getByLabel('From (day)').fill('2999-01-01');
  await expect(page.getByText('State: Succeeded', { exact: true }).last()).toBeVisible();
  await page.getByRole('link', { name: 'Clear filters' }).last().click();
  await expect(rowsOf(page).first()).toBeVisible();
});

test('servers are sorted with offline ones first, and the audit log has sentences', async () => {
  await page.goto(`/${ORGANIZATION}/servers`);
  await expect(page.getByRole('columnheader', { name: 'State' })).toHaveAttribute('aria-sort', 'ascending');
  await expect(row('local')).toContainText('Online');
  await checkAppearance(page);
  await keepPicture('servers');
  await page.goto(`/${ORGANIZATION}/settings/audit?search=${DRAFT}&action=app.create`);
  await expect(rowsOf(page).first()).toContainText(`${ADA.name} created the app ${DRAFT}`);
  await checkAppearance(page);
  await keepPicture('audit');
});

test('a malformed id in a URL is a page that was not found', async () => {
  for (const path of ['servers/nonsense', 'deployments/dep_!', 'certificates/x', 'apps/No%20Slug']) {
    await page.goto(`/${ORGANIZATION}/${path}`);
    await expect(page.getByRole('heading', { name: 'Page not found' }), path).toBeVisible();
  }
});
