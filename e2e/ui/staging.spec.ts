// Browser tests of an app in a second environment: created, deployed with the live release, and linked on every page.
// Runs after product.spec.ts.
import { expect, type Page, test } from '@playwright/test';
import { checkAppearance } from './accessibility.ts';
import { openSignedIn } from './signed-in.ts';

test.describe.configure({ mode: 'serial' });

const APP = '/my-organization/apps/hello';
const HOST = 'hello-staging.localhost';
const PAGES = ['Deployments', 'Logs', 'Environment variables', 'Domains', 'Storage', 'Settings', 'Overview'] as const;

let page: Page;

test.beforeAll(async ({ browser }) => {
  page = await openSignedIn(browser);
});
test.afterAll(() => page.context().close());

const menu = (environment: string) => page.getByRole('button', { name: `Environment: ${environment}` });
const tabs = () => page.getByRole('navigation', { name: 'App' });

test('the app is added to a new environment with the live release', async () => {
  await page.goto(APP);
  await menu('Production').press('Enter');
  await page.getByRole('menuitem', { name: 'Add to an environment' }).click();
  const dialog = page.getByRole('dialog', { name: 'Add hello to an environment' });
  await dialog.getByLabel('Name').fill('Staging');
  await dialog.getByLabel('Domain').fill('hello.localhost');
  await expect(dialog.getByLabel('First release')).toHaveValue('release');
  await dialog.getByRole('button', { name: 'Add', exact: true }).click();
  // The environment was not created either: its name is still free.
  await expect(dialog.getByLabel('Domain')).toHaveAccessibleDescription(/This host name or path is already in use\./);
  await dialog.getByLabel('Domain').fill(HOST);
  await checkAppearance(page);
  await dialog.getByRole('button', { name: 'Add', exact: true }).click();
  await expect(page).toHaveURL(/\/deployments\/dep_/);
  await expect(page.locator('header').first()).toContainText('Live', { timeout: 60_000 });
  await expect(page.getByRole('link', { name: new RegExp(HOST) }).first()).toBeVisible();
});

test('its pages stay in the environment, and the URL is enough to return to it', async () => {
  await page.getByRole('navigation', { name: 'Breadcrumb' }).getByRole('link', { name: 'hello' }).click();
  await expect(menu('Staging')).toBeVisible();
  for (const name of PAGES) {
    await tabs().getByRole('link', { name, exact: true }).click();
    await expect(tabs().getByRole('link', { name, exact: true })).toHaveAttribute('aria-current', 'page');
    await expect(page).toHaveURL(/\?environment=env_/);
    await expect(menu('Staging')).toBeVisible();
  }
  await page.reload();
  await expect(menu('Staging')).toBeVisible();
  await checkAppearance(page);
});

test('domains and variables belong to one environment only', async () => {
  await tabs().getByRole('link', { name: 'Domains', exact: true }).click();
  const hosts = page.getByRole('main').getByRole('link', { name: /^[\w.-]+\.localhost$/ });
  await expect(hosts).toHaveText([HOST]);
  await tabs().getByRole('link', { name: 'Environment variables', exact: true }).click();
  await page.getByRole('button', { name: 'Add variable' }).click();
  const add = page.getByRole('dialog', { name: 'Add variable' });
  await add.getByLabel('Name').fill('ONLY_STAGING');
  await add.getByRole('textbox', { name: 'Value' }).fill('a value of staging');
  await add.getByRole('button', { name: 'Secret', exact: true }).click();
  await add.getByLabel('Also at build time').check();
  await checkAppearance(page);
  await add.getByRole('button', { name: 'Save' }).click();
  const added = page.getByRole('row').filter({ has: page.getByTitle('ONLY_STAGING', { exact: true }) });
  await expect(added).toContainText('Build and run');
  await menu('Staging').click();
  await page.getByRole('menuitemradio', { name: 'Production' }).click();
  await expect(page).toHaveURL(/\/variables$/);
  await expect(menu('Production')).toBeVisible();
  await expect(page.getByTitle('ONLY_STAGING', { exact: true })).toHaveCount(0);
});

test('settings of one environment do not change the other', async () => {
  await page.goto(`${APP}/storage`);
  await menu('Production').click();
  await page.getByRole('menuitemradio', { name: 'Staging' }).click();
  // Until then the form shows production.
  await expect(menu('Staging')).toBeVisible();
  await expect(page).toHaveURL(/\?environment=env_/);
  await page.getByRole('button', { name: 'Add volume' }).click();
  await page.getByRole('textbox', { name: 'Name', exact: true }).last().fill('notes');
  await page.getByLabel('Mount path in container').fill('/data');
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(page.getByText(/^Saved as version \d+\./)).toBeVisible();
  await expect(page.getByRole('button', { name: 'Save' })).toBeDisabled();
  await page.getByRole('button', { name: 'Deploy', exact: true }).click();
  await expect(page).toHaveURL(/\/deployments\/dep_/);
  await expect(page.locator('header').first()).toContainText('Live', { timeout: 60_000 });
  await page.goto(`${APP}/storage`);
  await menu('Production').click();
  await page.getByRole('menuitemradio', { name: 'Staging' }).click();
  await expect(page.getByText('Volume usage')).toBeVisible();
  await menu('Staging').click();
  await page.getByRole('menuitemradio', { name: 'Production' }).click();
  await expect(menu('Production')).toBeVisible();
  await expect(page.getByLabel('Mount path in container')).toHaveCount(0);
});

test('environments are listed with their apps, created and protected', async () => {
  await page.goto('/my-organization/settings');
  await page.getByRole('link', { name: 'Open environments' }).click();
  const row = (name: string) => page.getByRole('listitem').filter({ has: page.getByText(name, { exact: true }) });
  await expect(row('Staging')).toContainText('1 app');
  await page.getByLabel('New environment').fill('Staging');
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  await expect(page.getByText('There is already an environment with this name', { exact: false })).toBeVisible();
  await page.getByLabel('New environment').fill('Preview');
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  await expect(row('Preview')).toContainText('No app yet');
  await page.getByRole('button', { name: 'Protect Preview' }).click();
  await expect(row('Preview')).toContainText('Protected');
  await checkAppearance(page);
});

test('the app is removed from the environment, which is then deleted; each by its name', async () => {
  await page.goto(`${APP}/settings/danger`);
  await expect(page.getByRole('button', { name: /^Remove hello from/ })).toHaveCount(0);
  await menu('Production').click();
  await page.getByRole('menuitemradio', { name: 'Staging' }).click();
  await page.getByRole('button', { name: 'Remove hello from Staging' }).click();
  const leaving = page.getByRole('dialog', { name: 'Remove hello from Staging' });
  await expect(leaving).toContainText(`${HOST} is detached`);
  await checkAppearance(page);
  await leaving.getByRole('textbox').fill('hello');
  await leaving.getByRole('button', { name: 'Remove' }).click();
  await expect(page).toHaveURL(/\/apps\/hello$/);
  await expect(menu('Production')).toBeVisible();

  await page.goto(`${APP}/storage`);
  const left = page.getByRole('listitem').filter({ hasText: 'notes of hello · Staging' });
  await expect(left).toBeVisible();
  await page.goto('/my-organization/settings/environments');
  await expect(page.getByRole('button', { name: 'Delete Production' })).toHaveCount(0);
  await page.getByRole('button', { name: 'Delete Staging' }).click();
  const ending = page.getByRole('dialog', { name: 'Delete the environment Staging' });
  await checkAppearance(page);
  await ending.getByRole('textbox').fill('Staging');
  await ending.getByRole('button', { name: 'Delete Staging' }).click();
  await expect(page.getByText('Staging is deleted')).toBeVisible();
  await expect(page.getByRole('listitem').filter({ has: page.getByText('Staging', { exact: true }) })).toHaveCount(0);

  // The app's volume outlives the environment, and is deleted by its name with a delay of a week.
  await left.getByRole('button', { name: 'Delete' }).click();
  const last = page.getByRole('dialog', { name: 'Delete the volume notes' });
  await last.getByRole('textbox').fill('notes');
  await last.getByRole('button', { name: 'Delete notes' }).click();
  await expect(left).toContainText('deleted in ');
  await left.getByRole('button', { name: 'Cancel' }).click();
  await expect(left.getByRole('button', { name: 'Delete' })).toBeVisible();
});
