// Browser tests of the control plane page: a backup by its button, a test email, and who may see the page. Runs after
// product.spec.ts, which creates the account.
import { readdirSync } from 'node:fs';
import { expect, type Page, test } from '@playwright/test';
import { checkAppearance } from './accessibility.ts';
import { openMember, openSignedIn } from './signed-in.ts';

const PAGE = '/my-organization/settings/control-plane';

let page: Page;

test.beforeAll(async ({ browser }) => {
  page = await openSignedIn(browser);
});
test.afterAll(() => page.context().close());

const card = (title: string) =>
  page
    .getByRole('main')
    .locator('section')
    .filter({ has: page.getByRole('heading', { name: title, level: 2 }) });

test('an operator makes a backup, and sees its result', async () => {
  await page.goto('/my-organization/settings');
  await page.getByRole('main').getByRole('link', { name: 'Open control plane' }).click();
  await expect(page).toHaveURL(PAGE);
  const backups = card('Backups');
  await expect(backups.getByText('No backups are scheduled.', { exact: false })).toBeVisible();
  await expect(backups.getByText('None yet')).toBeVisible();
  await backups.getByRole('button', { name: 'Back up now' }).click();
  const result = backups.getByRole('region', { name: 'Latest backups' }).getByRole('listitem');
  await expect(result).toContainText('Succeeded', { timeout: 60_000 });
  await expect(result).toContainText('by an operator');
  await expect(backups.getByText('None yet')).toHaveCount(0);
  await checkAppearance(page);
  const files = readdirSync(process.env.FAIRLEAD_E2E_BACKUPS ?? '');
  expect(files.map((file) => file.replace(/^.+Z/, '')).sort()).toEqual(['.data.age', '.keys.age']);
});

test('an operator sees storage, addresses and versions, and gets a test email', async () => {
  await page.goto(PAGE);
  await expect(card('Storage').getByText('free', { exact: false }).first()).toBeVisible();
  await expect(card('Addresses')).toContainText(process.env.FAIRLEAD_E2E_URL ?? '');
  await expect(card('Versions')).toContainText(process.versions.node);
  await card('Email').getByRole('button', { name: 'Send test email' }).click();
  await expect(page.getByText('Test email sent')).toBeVisible();
  const mails = () => readdirSync(process.env.FAIRLEAD_E2E_MAILS ?? '').length;
  expect(mails()).toBeGreaterThan(0);
});

test('a member who is no owner has no link to the page, and it shows nothing', async ({ browser }) => {
  const viewer = { name: 'Vera', email: 'vera@example.test', password: 'a password of Vera' };
  const other = await openMember(browser, viewer, 'viewer');
  await other.goto('/my-organization/settings');
  await expect(other.getByRole('main').getByRole('link', { name: 'Organization settings' })).toBeVisible();
  await expect(other.getByRole('link', { name: 'Open control plane' })).toHaveCount(0);
  await other.goto(PAGE);
  await expect(other.getByRole('heading', { name: 'Backups' })).toHaveCount(0);
  await other.context().close();
});
