// Browser tests of saved settings that are not live yet, and of the restore of a version. Runs after product.spec.ts,
// which leaves a live app.
import { expect, type Locator, type Page, test } from '@playwright/test';
import { checkAppearance } from './accessibility.ts';
import { waitUntilLoaded } from './page-load.ts';
import { openMember, openSignedIn } from './signed-in.ts';

test.describe.configure({ mode: 'serial' });

const SETTINGS = '/my-organization/apps/hello/settings';
const RITA = { name: 'Rita Example', email: 'rita@example.com', password: 'a bowline holds the boat' };

let page: Page;
let versions: number;

test.beforeAll(async ({ browser }) => {
  page = await openSignedIn(browser);
});
test.afterAll(() => page.context().close());

const save = () => page.getByRole('button', { name: 'Save', exact: true });
const notLive = (of = page) => of.getByRole('region', { name: 'Settings that are not live' });
const row = (label: string, within: Locator) => within.locator('dl > div').filter({ hasText: label });

/** Keys typed before the page hears them are lost. */
async function openHealthChecks(): Promise<void> {
  await page.goto(`${SETTINGS}/health`);
  await waitUntilLoaded(page);
}

async function saveValues(values: Readonly<Record<string, string>>): Promise<void> {
  for (const [label, value] of Object.entries(values)) await page.getByLabel(label).fill(value);
  await save().click();
  await expect(page.getByText(/^Saved as version \d+\./)).toBeVisible();
  const [, number = ''] = /version (\d+)/.exec(await page.getByText(/^Saved as version/).innerText()) ?? [];
  versions = Number(number);
}

test('settings that are not live show their live value', async () => {
  await openHealthChecks();
  await saveValues({ 'Start timeout': '90' });
  await expect(notLive()).toContainText('1 setting is not live yet: Start timeout.');
  await notLive().getByText('Show live and saved values').click();
  await expect(row('Start timeout', notLive())).toContainText(/1 m 00 s →to\s+1 m 30 s/);
  await expect(notLive().getByRole('button', { name: 'Deploy changes' })).toBeVisible();
  await checkAppearance(page);
  await notLive().getByText('Show live and saved values').click();

  await page.getByLabel('Start timeout').fill('75');
  await page.getByText('Show 1 change').click();
  const pending = row('Start timeout', page.locator('footer'));
  await expect(pending).toContainText(/1 m 30 s →to\s+1 m 15 s/);
  await expect(pending).toContainText('Live: 1 m 00 s');
  await checkAppearance(page);
  await page.getByRole('button', { name: 'Discard' }).click();
});

test('a version is restored as a new one after its changes were shown, and undone', async () => {
  await saveValues({ 'Start timeout': '45', 'Consecutive failures': '7' });
  const [former, newest] = [versions - 1, versions];
  await page.goto(`${SETTINGS}/general`);
  await expect(page.getByRole('button', { name: `Restore version ${newest}`, exact: true })).toHaveCount(0);
  await page.getByRole('button', { name: `Restore version ${former}`, exact: true }).click();
  const dialog = page.getByRole('dialog', { name: `Restore version ${former}?` });
  await expect(dialog).toContainText('2 settings change');
  await expect(row('Start timeout', dialog)).toContainText(/45\.0 s →to\s+1 m 30 s/);
  await expect(row('Consecutive failures', dialog)).toBeVisible();
  await checkAppearance(page);
  await dialog.getByRole('button', { name: 'Restore version' }).click();
  await expect(page.getByText(`Restored version ${former} as version ${newest + 1}`)).toBeVisible();
  await expect(dialog).toBeHidden();
  await expect(page.getByRole('button', { name: `Restore version ${newest}`, exact: true })).toBeVisible();
  await page.getByRole('button', { name: 'Undo' }).click();
  await expect(page.getByText(`Restored version ${newest} as version ${newest + 2}`)).toBeVisible();
});

test('a viewer sees what is not live, and neither deploys nor restores it', async ({ browser }) => {
  const viewer = await openMember(browser, RITA, 'viewer');
  await viewer.goto(`${SETTINGS}/general`);
  await expect(notLive(viewer)).toContainText('Start timeout');
  await expect(viewer.getByRole('heading', { name: 'Versions' })).toBeVisible();
  await expect(viewer.getByRole('button', { name: /Restore|Deploy/ })).toHaveCount(0);
  await viewer.context().close();
});

test('a note leaves with the last setting that was not live', async () => {
  await openHealthChecks();
  await saveValues({ 'Start timeout': '', 'Consecutive failures': '' });
  await expect(notLive()).toHaveCount(0);
});
