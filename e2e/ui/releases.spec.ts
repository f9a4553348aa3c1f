// Browser tests of releases and configuration: compare and roll back a release, save a setting that waits for a
// deployment. Runs after product.spec.ts, which leaves two releases, the first of them live.
import { expect, type Page, test } from '@playwright/test';
import { checkAppearance } from './accessibility.ts';
import { waitUntilLoaded } from './page-load.ts';
import { openSignedIn } from './signed-in.ts';

test.describe.configure({ mode: 'serial' });

const APP = '/my-organization/apps/hello';

let page: Page;

test.beforeAll(async ({ browser }) => {
  page = await openSignedIn(browser);
});
test.afterAll(() => page.context().close());

test('a release is compared with the live one and rolled back to', async () => {
  await page.goto(`${APP}/deployments`);
  const row = page.getByRole('row').filter({ has: page.getByRole('link', { name: '#2', exact: true }) });
  await expect(row).toContainText('default settings');
  await expect(row).toContainText('Rollback available');
  await expect(row.getByRole('button', { name: 'Roll back to #2' })).toBeVisible();
  await checkAppearance(page);
  await row.getByRole('button', { name: 'More for #2' }).click();
  await page.getByRole('menuitem', { name: 'Compare with live release' }).click();
  const compared = page.getByRole('dialog', { name: '#2 compared with the live #3' });
  await expect(compared.getByText('The same settings.')).toBeVisible();
  await checkAppearance(page);
  await compared.getByRole('button', { name: 'Roll back to #2' }).click();
  await expect(page).toHaveURL(/\/deployments\/dep_/);
  await expect(page.locator('header').first()).toContainText('Live', { timeout: 60_000 });
});

test('a saved setting waits for the next deployment, and the page says so', async () => {
  await page.goto(`${APP}/storage`);
  const save = page.getByRole('button', { name: 'Save' });
  await expect(save).toBeDisabled();
  await page.getByRole('button', { name: 'Add volume' }).click();
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill('uploads');
  await page.getByLabel('Mount path in container').fill('data');
  await save.click();
  await expect(page.getByText('Enter an absolute folder such as /data.')).toBeVisible();
  await page.getByRole('button', { name: 'Remove uploads' }).click();
  await page.goto(`${APP}/settings/runtime`);
  await page.getByText('Advanced', { exact: true }).click();
  await page.getByLabel('Stop timeout').fill('11');
  await checkAppearance(page);
  await save.click();
  await expect(page.getByText('1 setting is not live yet: Stop timeout.')).toBeVisible();
  await expect(save).toBeDisabled();
});

test('a start command for a shell is shown as it was typed', async () => {
  const command = page.getByLabel('Start command', { exact: true });
  const save = page.getByRole('button', { name: 'Save' });
  const line = 'exec node server.js --title "Two words" $PORT';
  await page.goto(`${APP}/settings/runtime`);
  // Keys typed before the page hears them are lost.
  await waitUntilLoaded(page);
  await command.fill(line);
  await save.click();
  await expect(save).toBeDisabled();
  await page.reload();
  await expect(command).toHaveValue(line);
  await expect(page.getByText('2 settings are not live yet: Start command, Stop timeout.')).toBeVisible();
  // Later specs expect the fold of rare fields closed.
  await page.getByLabel('Stop timeout').fill('');
  await command.fill('');
  await save.click();
  await expect(save).toBeDisabled();
});

test('a deploy key is created, and the page shows its public key', async () => {
  await page.goto(`${APP}/settings/source`);
  await page.getByRole('button', { name: 'Create deploy key' }).click();
  await expect(page.getByText(/^ssh-ed25519 /)).toBeVisible();
  await page.getByRole('button', { name: 'Remove the deploy key' }).click();
  await checkAppearance(page);
  await page.getByRole('dialog').getByRole('button', { name: 'Remove', exact: true }).click();
  await expect(page.getByText(/^ssh-ed25519 /)).toHaveCount(0);
});
