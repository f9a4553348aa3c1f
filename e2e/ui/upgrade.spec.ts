// Browser tests of an agent upgrade: offered, confirmed, followed live, and running. Runs after product.spec.ts and
// last, because later tests would run with another agent.
import { expect, type Page, test } from '@playwright/test';
import { checkAppearance } from './accessibility.ts';
import { openSignedIn } from './signed-in.ts';

test.describe.configure({ mode: 'serial' });

let page: Page;

test.beforeAll(async ({ browser }) => {
  page = await openSignedIn(browser);
});
test.afterAll(() => page.context().close());

test('a server whose agent differs from the offered one says so', async () => {
  await page.goto('/my-organization/servers');
  await expect(page.getByText('Agent upgrade available')).toBeVisible();
  await checkAppearance(page);
  await page.getByRole('link', { name: 'local', exact: true }).click();
  await expect(page.getByText('Agent available', { exact: false })).toBeVisible();
  await checkAppearance(page);
});

test('the upgrade asks for confirmation, and the page follows it', async () => {
  const digest = page.locator('[title^="sha256:"]');
  const before = await digest.getAttribute('title');
  await page.getByRole('button', { name: 'Upgrade agent' }).click();
  const dialog = page.getByRole('dialog', { name: 'Upgrade the agent of local' });
  await expect(dialog.getByText('Apps keep running and no request is lost', { exact: false })).toBeVisible();
  await checkAppearance(page);
  await dialog.getByRole('button', { name: 'Upgrade agent' }).click();
  await expect(page.getByText('Upgrading to', { exact: false })).toBeVisible();
  await checkAppearance(page);
  await expect(digest).not.toHaveAttribute('title', before ?? '', { timeout: 60_000 });
  await expect(page.getByText('Upgrading to', { exact: false })).toHaveCount(0, { timeout: 60_000 });
  await expect(page.getByText('Agent available', { exact: false })).toHaveCount(0);
});
