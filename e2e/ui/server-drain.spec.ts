// Browser tests of a drain: the dialog says what stays, the page shows the drain, and no deployment starts meanwhile. Runs
// after product.spec.ts, and ends the drain for later tests.
import { expect, type Page, test } from '@playwright/test';
import { checkAppearance } from './accessibility.ts';
import { openSignedIn } from './signed-in.ts';

test.describe.configure({ mode: 'serial' });

let page: Page;

test.beforeAll(async ({ browser }) => {
  page = await openSignedIn(browser);
});
test.afterAll(() => page.context().close());

test('a drain names the apps that stay, and can be ended', async () => {
  await page.goto('/my-organization/servers');
  await page.getByRole('link', { name: 'local', exact: true }).click();
  await page.getByRole('button', { name: 'More actions' }).click();
  await page.getByRole('menuitem', { name: 'Drain server' }).click();
  const dialog = page.getByRole('dialog', { name: 'Drain local' });
  await expect(dialog.getByRole('heading', { name: 'These apps stay on it' })).toBeVisible();
  await expect(dialog.getByRole('link', { name: 'hello', exact: true })).toBeVisible();
  await checkAppearance(page);
  await dialog.getByRole('button', { name: 'Drain server' }).press('Enter');
  const note = page.getByRole('region', { name: 'Drain' });
  await expect(note.getByRole('heading', { name: /^Drained .+ by Ada/ })).toBeVisible();
  await checkAppearance(page);
});

test('apps have nowhere to move without another server', async () => {
  await page.getByRole('button', { name: 'Move apps' }).click();
  const dialog = page.getByRole('dialog', { name: 'Move apps from local' });
  await expect(dialog.getByText('No other server is online and takes deployments.', { exact: false })).toBeVisible();
  await expect(dialog.getByRole('button', { name: 'Move apps' })).toBeDisabled();
  await checkAppearance(page);
  await page.keyboard.press('Escape');
  await expect(dialog).toHaveCount(0);
});

test('nothing is deployed to the server until the drain ends', async () => {
  const server = page.url();
  await page.goto('/my-organization/apps/hello');
  await page.getByRole('button', { name: 'Deploy', exact: true }).click();
  await expect(page.getByText('This server is drained', { exact: false })).toBeVisible();
  await page.goto(server);
  await page.getByRole('button', { name: 'End drain' }).press('Enter');
  await expect(page.getByRole('region', { name: 'Drain' })).toHaveCount(0);
});
