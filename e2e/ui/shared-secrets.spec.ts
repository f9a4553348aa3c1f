// Browser tests of shared groups of secrets and of the rotation of the data key. Runs after secrets.spec.ts.
import { expect, type Page, test } from '@playwright/test';
import { checkAppearance } from './accessibility.ts';
import { openSignedIn } from './signed-in.ts';

test.describe.configure({ mode: 'serial' });

const GROUPS = '/my-organization/settings/secrets';
const VARIABLES = '/my-organization/apps/hello/variables';
const VALUE = 'postgres://reader@db.example.test/shop';

let page: Page;

test.beforeAll(async ({ browser }) => {
  page = await openSignedIn(browser);
});
test.afterAll(() => page.context().close());

const rowOf = (name: string) => page.getByRole('listitem').filter({ has: page.getByTitle(name, { exact: true }) });
const group = () => page.getByRole('checkbox', { name: 'database' });

test('a group is created with a secret, and a taken or invalid name is refused with a reason', async () => {
  await page.goto(GROUPS);
  await expect(page.getByText('No shared groups yet')).toBeVisible();
  const name = page.getByLabel('New group');
  await name.fill('database');
  await page.getByRole('button', { name: 'Add', exact: true }).click();
  await expect(page.getByText(/, used by no app$/)).toBeVisible();
  await name.fill('database');
  await page.getByRole('button', { name: 'Add', exact: true }).click();
  await expect(page.getByText("The group wasn't created")).toBeVisible();
  await page.getByRole('button', { name: 'Add secret' }).click();
  const add = page.getByRole('dialog', { name: 'Add secret' });
  await add.getByLabel('Name').fill('DATABASE_URL');
  await add.getByRole('textbox', { name: 'Value' }).fill(VALUE);
  await add.getByRole('checkbox', { name: /^Sealed/ }).uncheck();
  await add.getByRole('button', { name: 'Save' }).click();
  await expect(rowOf('DATABASE_URL')).toBeVisible();
  await checkAppearance(page);
});

test('an app that attaches the group has its secrets with the next deployment', async () => {
  await page.goto(VARIABLES);
  await group().click();
  await expect(page.getByText('DATABASE_URL (new)')).toBeVisible();
  await page.reload();
  await expect(group()).toBeChecked();
  const shared = page.getByRole('row').filter({ has: page.getByTitle('DATABASE_URL', { exact: true }) });
  await expect(shared).toContainText('database');
  await expect(shared).toContainText('Deploy to apply');
  await page.goto(GROUPS);
  await expect(page.getByText(/, used by hello$/)).toBeVisible();
  await expect(page.getByRole('button', { name: 'Delete group database' })).toHaveCount(0);
});

test('after the data key is rotated, values can still be revealed', async () => {
  await page.goto('/my-organization/settings/organization');
  await page.getByRole('button', { name: 'Rotate key' }).click();
  const dialog = page.getByRole('dialog', { name: 'Rotate data key' });
  await expect(dialog).toContainText('Apps keep running, and nothing is deployed.');
  await checkAppearance(page);
  await dialog.getByRole('button', { name: 'Rotate key' }).click();
  await expect(page.getByText('Data key rotated')).toBeVisible();
  await page.goto(GROUPS);
  await page.getByRole('button', { name: 'Actions for DATABASE_URL' }).click();
  await page.getByRole('menuitem', { name: 'Show value' }).click();
  await expect(rowOf('DATABASE_URL').getByText(VALUE)).toBeVisible();
  await page.goto('/my-organization/settings/audit?action=secret.rotate_key');
  await expect(page.getByRole('row').filter({ hasText: 'Data key' })).toHaveCount(1);
});

test('a group that no app uses any more is deleted', async () => {
  await page.goto(VARIABLES);
  await group().click();
  await expect(page.getByText('DATABASE_URL (new)')).toHaveCount(0);
  await page.goto(GROUPS);
  await page.getByRole('button', { name: 'Delete group database' }).click();
  await expect(page.getByText('No shared groups yet')).toBeVisible();
});
