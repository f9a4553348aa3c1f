// Browser tests of updates: the changelog of a newer release, the button, and what the page shows of the updater, whose part this
// file plays. Runs after product.spec.ts, which creates the account.
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, type Page, test } from '@playwright/test';
import { checkAppearance } from './accessibility.ts';
import { openSignedIn } from './signed-in.ts';

const PAGE = '/my-organization/settings/control-plane';
const folder = process.env.FAIRLEAD_E2E_UPDATES ?? '';
const request = join(folder, 'updater/requests/request');

let page: Page;

test.beforeAll(async ({ browser }) => {
  page = await openSignedIn(browser);
});
test.afterAll(() => page.context().close());

const updates = () =>
  page
    .getByRole('main')
    .locator('section')
    .filter({ has: page.getByRole('heading', { name: 'Updates', level: 2 }) });

function offer(release: 'newer' | 'older'): void {
  rmSync(join(folder, 'feed'), { recursive: true, force: true });
  cpSync(join(folder, release), join(folder, 'feed'), { recursive: true });
}

/** Writes the state as the updater does. */
function report(state: string, step: string): void {
  const fields = { from: '0.1.0', to: '99.0.0', state, step, started_at: new Date().toISOString() };
  const lines = Object.entries(fields).map(([name, value]) => `${name} ${value}`);
  writeFileSync(join(folder, 'updater/log'), 'stopping 0.1.0; apps keep running\n');
  writeFileSync(join(folder, 'updater/state'), `${lines.join('\n')}\n`);
}

test('an operator reads what is new and starts the update, and sees its steps and its end', async () => {
  await page.goto(PAGE);
  offer('newer');
  await updates().getByRole('button', { name: 'Check now' }).click();
  await expect(updates().getByText('Version 99.0.0 is available')).toBeVisible();
  await expect(updates().getByRole('region', { name: 'Changelog' })).toContainText('A button.');
  await checkAppearance(page);
  await page.goto('/my-organization');
  await page.getByRole('main').getByRole('link', { name: 'Fairlead 99.0.0 is available' }).click();
  await expect(page).toHaveURL(PAGE);

  await updates().getByRole('button', { name: 'Update', exact: true }).click();
  const dialog = page.getByRole('dialog', { name: 'Update to 99.0.0' });
  await expect(dialog).toContainText('no request to them is lost');
  await checkAppearance(page);
  await dialog.getByRole('button', { name: 'Update' }).click();
  await expect(updates().getByText('Requested')).toBeVisible();
  expect(readFileSync(request, 'utf8')).toBe('99.0.0\n');
  rmSync(request);
  report('running', 'back_up');
  await expect(updates().getByText('Copying the database and the keys, 0.1.0 to 99.0.0')).toBeVisible();
  await checkAppearance(page);
  report('rolled_back', 'roll_back');
  await expect(updates().getByText('The update to 99.0.0 failed, and 0.1.0 is back with its database')).toBeVisible();
  await expect(updates().getByText('stopping 0.1.0; apps keep running')).toBeVisible();
});

test('an older release is no update, and a feed that can not be read says so', async () => {
  await page.goto(PAGE);
  offer('older');
  await updates().getByRole('button', { name: 'Check now' }).click();
  await expect(page.getByText('This is the newest version')).toBeVisible();
  await expect(updates().getByRole('button', { name: 'Update', exact: true })).toHaveCount(0);
  rmSync(join(folder, 'feed'), { recursive: true });
  await updates().getByRole('button', { name: 'Check now' }).click();
  await expect(updates().getByText('The last check for a newer version failed.', { exact: false })).toBeVisible();
});
