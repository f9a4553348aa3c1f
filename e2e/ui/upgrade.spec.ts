// Browser tests of agent upgrades: offered, confirmed, followed live, and running. Runs after product.spec.ts and
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

test('the upgrade of one agent asks for confirmation', async () => {
  await page.getByRole('button', { name: 'Upgrade agent' }).click();
  const dialog = page.getByRole('dialog', { name: 'Upgrade the agent of local' });
  await expect(dialog.getByText('Apps keep running and no request is lost', { exact: false })).toBeVisible();
  await checkAppearance(page);
  await page.keyboard.press('Escape');
  await expect(dialog).toHaveCount(0);
});

test('the upgrade of all agents shows its waves, and the page follows it', async () => {
  const digest = page.locator('[title^="sha256:"]');
  const before = (await digest.getAttribute('title')) ?? '';
  const server = page.url();
  await page.goto('/my-organization/servers');
  const note = page.getByRole('region', { name: 'Agent upgrade' });
  await expect(note.getByRole('heading', { name: /^Agent .+ is available for 1 server$/ })).toBeVisible();
  await note.getByRole('button', { name: 'Upgrade all' }).press('Enter');
  const dialog = page.getByRole('dialog', { name: /^Upgrade 1 agent to / });
  await expect(dialog.getByRole('list', { name: 'Waves' }).getByText('local')).toBeVisible();
  await checkAppearance(page);
  await dialog.getByRole('button', { name: 'Upgrade all' }).press('Enter');
  await expect(note.getByText('Wave 1 of 1: 0 of 1 server upgraded.', { exact: false })).toBeVisible();
  await expect(note.getByRole('button', { name: 'Cancel upgrade' })).toBeVisible();
  await checkAppearance(page);
  await expect(note.getByRole('heading', { name: /^Agent .+ runs on 1 server$/ })).toBeVisible({ timeout: 90_000 });
  await checkAppearance(page);
  await page.goto(server);
  await expect(digest).not.toHaveAttribute('title', before);
  await expect(page.getByText('Agent available', { exact: false })).toHaveCount(0);
});
