// Browser tests of an app's secrets among its environment variables: add, paste, reveal after an identity check, restore
// a version, apply and delete.
// Runs after scan.spec.ts.
import { join } from 'node:path';
import { ageSessions } from '@fairlead/auth/testing/age-sessions';
import { findRunning } from '@fairlead/db/embedded';
import { expect, type Page, test } from '@playwright/test';
import { ADA } from '../../tools/lib/dashboard-client.ts';
import { checkAppearance } from './accessibility.ts';
import { openSignedIn } from './signed-in.ts';

test.describe.configure({ mode: 'serial' });

const VARIABLES = '/my-organization/apps/hello/variables';
const VALUE = 'a value for no eye but one';
const LONG_NAME = 'THE_ADDRESS_OF_THE_DATABASE_THAT_HOLDS_WHAT_VISITORS_WROTE';

let page: Page;

test.beforeAll(async ({ browser }) => {
  page = await openSignedIn(browser);
});
test.afterAll(() => page.context().close());

const dialog = (name: string) => page.getByRole('dialog', { name });
const rowOf = (name: string) => page.getByRole('row').filter({ has: page.getByTitle(name, { exact: true }) });

async function choose(name: string, item: string): Promise<void> {
  const entry = page.getByRole('menuitem', { name: item, exact: true });
  // A dialog that just closed restores focus, which closes a menu that was opened meanwhile.
  await expect(async () => {
    if (!(await entry.isVisible())) await page.getByRole('button', { name: `Actions for ${name}` }).click();
    await entry.click({ timeout: 2_000 });
  }).toPass();
}

test('a secret is added, and shown masked', async () => {
  // The former address of the page.
  await page.goto('/my-organization/apps/hello/secrets?from=bookmark');
  await expect(page).toHaveURL(/\/apps\/hello\/variables\?from=bookmark$/);
  await expect(page.getByText('No environment variables yet')).toBeVisible();
  await page.getByRole('button', { name: 'Add variable' }).click();
  const add = dialog('Add variable');
  await add.getByLabel('Name').fill('API_KEY');
  await add.getByRole('textbox', { name: 'Value' }).fill(VALUE);
  await add.getByRole('checkbox', { name: /^Sealed/ }).uncheck();
  await checkAppearance(page);
  await add.getByRole('button', { name: 'Save' }).click();
  await expect(rowOf('API_KEY').getByRole('img', { name: 'Hidden value' })).toBeVisible();
  await expect(page.getByText('1 change is not live yet')).toBeVisible();
  await page.reload();
  await expect(rowOf('API_KEY')).toBeVisible();
  expect(await page.content()).not.toContain(VALUE);
});

test('two secrets are pasted and previewed by name; an invalid line blocks all of them', async () => {
  await page.getByRole('button', { name: 'Paste .env', exact: true }).click();
  const paste = dialog('Paste .env');
  await paste.getByRole('textbox').fill('no equals here\nREGION=north');
  await expect(paste.getByText('Line 1:')).toBeVisible();
  await expect(paste.getByRole('button', { name: 'Save 1 variable' })).toBeDisabled();
  await paste.getByRole('textbox').fill(`export REGION="north"\n# for later\n${LONG_NAME}=db`);
  const preview = paste.getByRole('list', { name: 'Changes' });
  await expect(preview.getByRole('listitem')).toHaveText([/^REGIONnew/, new RegExp(`^${LONG_NAME}new`)]);
  for (const name of ['REGION', LONG_NAME]) await paste.getByLabel(`Kind of ${name}`).selectOption('Secret');
  await checkAppearance(page);
  await paste.getByRole('button', { name: 'Save 2 variables' }).click();
  await expect(rowOf('REGION')).toContainText('sealed');
  await expect(rowOf(LONG_NAME)).toBeVisible();
  await checkAppearance(page);
});

test('a value is revealed after an identity check; a sealed one never', async () => {
  const databaseUrl = await findRunning(join(process.env.FAIRLEAD_E2E_DATA ?? '', 'postgres'));
  if (databaseUrl === null) throw new Error('the product has no database');
  await ageSessions(databaseUrl);
  await choose('API_KEY', 'Show value');
  const ask = dialog("Confirm that it's you");
  await ask.getByLabel('Password').fill(ADA.password);
  await ask.getByRole('button', { name: 'Confirm' }).click();
  await expect(rowOf('API_KEY').getByText(VALUE)).toBeVisible();
  await choose('API_KEY', 'Hide value');
  await expect(rowOf('API_KEY').getByText(VALUE)).toHaveCount(0);
  await page.getByRole('button', { name: 'Actions for REGION' }).click();
  await expect(page.getByRole('menuitem', { name: 'History' })).toBeVisible();
  await expect(page.getByRole('menuitem', { name: 'Show value' })).toBeHidden();
  await page.keyboard.press('Escape');
});

test('an older value is restored as a new version', async () => {
  await choose('API_KEY', 'Change');
  const change = dialog('Change API_KEY');
  await change.getByRole('textbox', { name: 'New value' }).fill('another value');
  await change.getByRole('button', { name: 'Save' }).click();
  await expect(change).toBeHidden();
  await choose('API_KEY', 'History');
  const history = dialog('History of API_KEY');
  await history.getByRole('button', { name: 'Restore version 1' }).click();
  await expect(history.getByRole('listitem')).toHaveCount(3);
  await checkAppearance(page);
  await page.keyboard.press('Escape');
  await choose('API_KEY', 'Show value');
  await expect(rowOf('API_KEY').getByText(VALUE)).toBeVisible();
});

test('pending changes are applied at once', async () => {
  await page.getByRole('button', { name: 'Apply now' }).click();
  await expect(page).toHaveURL(/\/deployments\/dep_/);
  await expect(page.locator('header').first()).toContainText('Live', { timeout: 60_000 });
  await page.goto(VARIABLES);
  await expect(rowOf('API_KEY')).toBeVisible();
  await expect(page.getByText('not live yet')).toHaveCount(0);
});

test('a secret is deleted after a confirmation', async () => {
  await choose('REGION', 'Delete');
  await dialog('Delete REGION').getByRole('button', { name: 'Cancel' }).click();
  await expect(rowOf('REGION')).toBeVisible();
  await choose('REGION', 'Delete');
  await checkAppearance(page);
  await dialog('Delete REGION').getByRole('button', { name: 'Delete' }).click();
  await expect(rowOf('REGION')).toHaveCount(0);
  await expect(page.getByText('REGION (deleted)')).toBeVisible();
  await page.getByRole('button', { name: 'Undo' }).click();
  await expect(rowOf('REGION')).toBeVisible();
});
