// An app in a second environment, in a browser: made, brought there with what is live, and looked at on every page by its
// address. Runs after product.spec.ts.
import { expect, type Page, test } from '@playwright/test';
import { look } from './accessibility.ts';
import { openSignedIn } from './signed-in.ts';

test.describe.configure({ mode: 'serial' });

const APP = '/my-organization/apps/hello';
const HOST = 'hello-staging.localhost';
const PAGES = ['Deployments', 'Releases', 'Logs', 'Domains', 'Secrets', 'Configuration', 'Settings', 'Live'] as const;

let page: Page;

test.beforeAll(async ({ browser }) => {
  page = await openSignedIn(browser);
});
test.afterAll(() => page.context().close());

const menu = (environment: string) => page.getByRole('button', { name: `Environment: ${environment}` });
const tabs = () => page.getByRole('navigation', { name: 'App' });

test('the app is added to a new environment, with the release that is live', async () => {
  await page.goto(APP);
  await menu('Production').press('Enter');
  await page.getByRole('menuitem', { name: 'Add to an environment' }).click();
  const dialog = page.getByRole('dialog', { name: 'Add hello to an environment' });
  await dialog.getByLabel('Name').fill('Staging');
  await dialog.getByLabel('Domain').fill(HOST);
  await expect(dialog.getByLabel('Runs there first')).toHaveValue('release');
  await look(page);
  await dialog.getByRole('button', { name: 'Add', exact: true }).click();
  await expect(page).toHaveURL(/\/deployments\/dep_/);
  await expect(page.locator('header').first()).toContainText('Live', { timeout: 60_000 });
  await expect(page.getByRole('link', { name: new RegExp(HOST) }).first()).toBeVisible();
});

test('its pages stay in the environment, and the address is enough to come back to one', async () => {
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
  await look(page);
});

test('domains and secrets are of the one environment alone', async () => {
  await tabs().getByRole('link', { name: 'Domains', exact: true }).click();
  const hosts = page.getByRole('main').getByRole('link', { name: /^[\w.-]+\.localhost$/ });
  await expect(hosts).toHaveText([HOST]);
  await tabs().getByRole('link', { name: 'Secrets', exact: true }).click();
  await page.getByRole('button', { name: 'Add a secret' }).click();
  const add = page.getByRole('dialog', { name: 'Add a secret' });
  await add.getByLabel('Name').fill('ONLY_STAGING');
  await add.getByRole('textbox', { name: 'Value' }).fill('a value of staging');
  await add.getByLabel('Also at build time').check();
  await look(page);
  await add.getByRole('button', { name: 'Save' }).click();
  await expect(page.getByTitle('ONLY_STAGING', { exact: true })).toBeVisible();
  const added = page.getByRole('listitem').filter({ has: page.getByTitle('ONLY_STAGING', { exact: true }) });
  await expect(added).toContainText('build');
  await menu('Staging').click();
  await page.getByRole('menuitemradio', { name: 'Production' }).click();
  await expect(page).toHaveURL(/\/secrets$/);
  await expect(menu('Production')).toBeVisible();
  await expect(page.getByTitle('ONLY_STAGING', { exact: true })).toHaveCount(0);
});

test('the settings of one environment leave the other alone', async () => {
  await page.goto(`${APP}/config`);
  await menu('Production').click();
  await page.getByRole('menuitemradio', { name: 'Staging' }).click();
  // Until then the form is that of production.
  await expect(menu('Staging')).toBeVisible();
  await expect(page).toHaveURL(/\?environment=env_/);
  await page.getByRole('button', { name: 'Add a variable' }).click();
  await page.getByRole('textbox', { name: 'Name', exact: true }).last().fill('STAGE');
  await page.getByRole('textbox', { name: 'Value' }).last().fill('staging');
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(page.getByText('variables.STAGE').first()).toBeVisible();
  await page.getByRole('button', { name: 'Add a volume' }).click();
  await page.getByRole('textbox', { name: 'Name', exact: true }).last().fill('notes');
  await page.getByLabel('Folder in a container').fill('/data');
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(page.getByText('volumes', { exact: true })).toBeVisible();
  await page.getByRole('button', { name: 'Deploy', exact: true }).click();
  await expect(page).toHaveURL(/\/deployments\/dep_/);
  await expect(page.locator('header').first()).toContainText('Live', { timeout: 60_000 });
  await page.goto(`${APP}/config`);
  await menu('Production').click();
  await page.getByRole('menuitemradio', { name: 'Staging' }).click();
  await expect(page.getByText('What volumes hold')).toBeVisible();
  await menu('Staging').click();
  await page.getByRole('menuitemradio', { name: 'Production' }).click();
  await expect(menu('Production')).toBeVisible();
  await expect(page.getByText('variables.STAGE')).toHaveCount(0);
});

test('environments are listed with their apps, made and protected', async () => {
  await page.goto('/my-organization/settings');
  await page.getByRole('link', { name: 'Open environments' }).click();
  const row = (name: string) => page.getByRole('listitem').filter({ has: page.getByText(name, { exact: true }) });
  await expect(row('Staging')).toContainText('1 app');
  await page.getByLabel('New environment').fill('Staging');
  await page.getByRole('button', { name: 'Make it' }).click();
  await expect(page.getByText('There is already an environment with this name', { exact: false })).toBeVisible();
  await page.getByLabel('New environment').fill('Preview');
  await page.getByRole('button', { name: 'Make it' }).click();
  await expect(row('Preview')).toContainText('No app yet');
  await page.getByRole('button', { name: 'Protect Preview' }).click();
  await expect(row('Preview')).toContainText('Protected');
  await look(page);
});

test('the app is taken out of the environment, which then ends; each by its name', async () => {
  await page.goto(`${APP}/settings`);
  await expect(page.getByRole('button', { name: /^Take hello out/ })).toHaveCount(0);
  await menu('Production').click();
  await page.getByRole('menuitemradio', { name: 'Staging' }).click();
  await page.getByRole('button', { name: 'Take hello out of Staging' }).click();
  const leaving = page.getByRole('dialog', { name: 'Take hello out of Staging' });
  await expect(leaving).toContainText(`${HOST} stops leading here`);
  await look(page);
  await leaving.getByRole('textbox').fill('hello');
  await leaving.getByRole('button', { name: 'Take it out' }).click();
  await expect(page).toHaveURL(/\/apps\/hello$/);
  await expect(menu('Production')).toBeVisible();

  await page.goto(`${APP}/config`);
  const left = page.getByRole('listitem').filter({ hasText: 'notes of hello · Staging' });
  await expect(left).toBeVisible();
  await page.goto('/my-organization/settings/environments');
  await expect(page.getByRole('button', { name: 'Delete Production' })).toHaveCount(0);
  await page.getByRole('button', { name: 'Delete Staging' }).click();
  const ending = page.getByRole('dialog', { name: 'Delete the environment Staging' });
  await look(page);
  await ending.getByRole('textbox').fill('Staging');
  await ending.getByRole('button', { name: 'Delete Staging' }).click();
  await expect(page.getByText('Staging is deleted')).toBeVisible();
  await expect(page.getByRole('listitem').filter({ has: page.getByText('Staging', { exact: true }) })).toHaveCount(0);

  // What its app kept there outlives it, and still ends by its name, a week later.
  await left.getByRole('button', { name: 'Delete' }).click();
  const last = page.getByRole('dialog', { name: 'Delete the volume notes' });
  await last.getByRole('textbox').fill('notes');
  await last.getByRole('button', { name: 'Delete notes' }).click();
  await expect(left).toContainText('deleted in ');
  await left.getByRole('button', { name: 'Keep it' }).click();
  await expect(left.getByRole('button', { name: 'Delete' })).toBeVisible();
});
