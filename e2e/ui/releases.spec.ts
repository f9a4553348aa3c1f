// Browser tests of releases and configuration: compare and roll back a release, save a setting that waits for a
// deployment. Runs after product.spec.ts, which leaves two releases, the first of them live.
import { expect, type Page, test } from '@playwright/test';
import { checkAppearance } from './accessibility.ts';
import { openSignedIn } from './signed-in.ts';

test.describe.configure({ mode: 'serial' });

const APP = '/my-organization/apps/hello';

let page: Page;

test.beforeAll(async ({ browser }) => {
  page = await openSignedIn(browser);
});
test.afterAll(() => page.context().close());

test('a release is compared with the live one and rolled back to', async () => {
  await page.goto(`${APP}/releases`);
  await expect(page.getByRole('listitem').filter({ hasText: 'default settings' }).first()).toBeVisible();
  await page.getByRole('button', { name: 'Compare release 2 with the live one' }).click();
  const compared = page.getByRole('dialog', { name: 'Release 2 compared with the live release 1' });
  await expect(compared.getByText('The same settings.')).toBeVisible();
  await checkAppearance(page);
  await compared.getByRole('button', { name: 'Roll back to release 2' }).click();
  await expect(page).toHaveURL(/\/deployments\/dep_/);
  await expect(page.locator('header').first()).toContainText('Live', { timeout: 60_000 });
});

test('a saved setting waits for the next deployment, and the page says so', async () => {
  await page.goto(`${APP}/config`);
  const save = page.getByRole('button', { name: 'Save' });
  await expect(save).toBeDisabled();
  await page.getByRole('button', { name: 'Add variable' }).click();
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill('PORT');
  await page.getByRole('textbox', { name: 'Value' }).fill('quiet');
  await save.click();
  await expect(page.getByText('Fairlead sets this variable itself.')).toBeVisible();
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill('LOG_LEVEL');
  await checkAppearance(page);
  await save.click();
  await expect(page.getByText('1 setting is not live yet:')).toBeVisible();
  await expect(page.getByText('variables.LOG_LEVEL').first()).toBeVisible();
  await expect(save).toBeDisabled();
});

test('a variable has a scope, and a start command for a shell is shown as it was typed', async () => {
  const [scope, command] = [page.getByRole('combobox', { name: 'Scope' }), page.getByLabel('Start command')];
  const save = page.getByRole('button', { name: 'Save' });
  const line = 'exec node server.js --title "Two words" $PORT';
  await page.goto(`${APP}/config`);
  await expect(scope).toHaveValue('both');
  await scope.selectOption('Run only');
  await command.fill(line);
  await save.click();
  await expect(save).toBeDisabled();
  await page.reload();
  await expect(scope).toHaveValue('run');
  await expect(command).toHaveValue(line);
  await expect(page.getByText('startCommand, variables.LOG_LEVEL').first()).toBeVisible();
  await command.fill('');
  await save.click();
  await expect(save).toBeDisabled();
});

test('a deploy key is created, and the page shows its public key', async () => {
  await page.goto(`${APP}/settings`);
  await page.getByRole('button', { name: 'Create deploy key' }).click();
  await expect(page.getByText(/^ssh-ed25519 /)).toBeVisible();
  await page.getByRole('button', { name: 'Remove the deploy key' }).click();
  await checkAppearance(page);
  await page.getByRole('dialog').getByRole('button', { name: 'Remove', exact: true }).click();
  await expect(page.getByText(/^ssh-ed25519 /)).toHaveCount(0);
});
