// Browser tests of projects: created, renamed, shown alone, an app that moves there and back, and deleted. Runs after
// product.spec.ts, which leaves a live app.
import { expect, type Page, test } from '@playwright/test';
import { startTraffic } from '../../tools/lib/traffic.ts';
import { checkAppearance } from './accessibility.ts';
import { openSignedIn } from './signed-in.ts';

test.describe.configure({ mode: 'serial' });

const ORGANIZATION = '/my-organization';
const APP = `${ORGANIZATION}/apps/hello`;
const STARTED = { timeout: 60_000 };

let page: Page;

test.beforeAll(async ({ browser }) => {
  page = await openSignedIn(browser);
});
test.afterAll(() => page.context().close());

const row = (name: string) => page.getByRole('row').filter({ has: page.getByRole('link', { name, exact: true }) });
const switcher = (name: string) => page.getByRole('button', { name: `Project: ${name}` });
const rail = (name: string) => page.getByRole('navigation', { name: 'Main', exact: true }).getByRole('link', { name });

async function openMenu(project: string, item: string): Promise<void> {
  await page.getByRole('button', { name: `Change ${project}` }).click();
  await page.getByRole('menuitem', { name: item }).click();
}

async function move(project: string): Promise<void> {
  await page.goto(`${APP}/settings`);
  await page.getByRole('button', { name: 'Move to another project' }).click();
  const dialog = page.getByRole('dialog', { name: 'Move hello to another project' });
  await expect(dialog.getByLabel('Project')).toContainText(project);
  await expect(dialog.getByLabel('From Production to').locator('option:checked')).toHaveText('Production');
  await expect(dialog).toContainText('Visitors get an error until the first new instance is healthy');
  await checkAppearance(page);
  await dialog.getByRole('button', { name: 'Move hello' }).click();
  await expect(page.getByText(`hello moved to ${project}`)).toBeVisible();
  await expect(page.getByRole('heading', { name: `Project ${project}` })).toBeVisible();
}

/** Waits until the app is live, and checks that it serves requests without a failure. */
async function expectServed(): Promise<void> {
  await page.goto(`${ORGANIZATION}/apps`);
  await expect(row('hello')).toContainText('Live', STARTED);
  const { FAIRLEAD_E2E_HTTPS_PORT: port, FAIRLEAD_E2E_CA: caFile } = process.env;
  if (port === undefined || caFile === undefined) throw new Error('global-setup.ts did not run');
  const visitors = startTraffic({ host: 'hello.localhost', port: Number(port), caFile, path: '/', connections: 1 });
  await visitors.more(20, 30_000);
  expect((await visitors.stop()).failures).toEqual([]);
}

test('a project is created with a unique name, and renamed', async () => {
  await page.goto(ORGANIZATION);
  await expect(page.getByRole('button', { name: /^Project: / })).toHaveCount(0);
  await rail('Projects').click();
  await expect(row('Default')).toContainText('Production');
  await page.getByRole('button', { name: 'New project' }).click();
  const dialog = page.getByRole('dialog', { name: 'New project' });
  await dialog.getByLabel('Name').fill('default');
  await dialog.getByRole('button', { name: 'Create project' }).click();
  await expect(dialog).toContainText('There is already a project with this name');
  await checkAppearance(page);
  await dialog.getByLabel('Name').fill('Store');
  await dialog.getByRole('button', { name: 'Create project' }).click();
  await expect(row('Store')).toContainText('Production');

  await openMenu('Store', 'Rename');
  const rename = page.getByRole('dialog', { name: 'Rename Store' });
  await rename.getByLabel('Name').fill('Shop');
  await rename.getByRole('button', { name: 'Rename project' }).click();
  await expect(row('Shop')).toBeVisible();
  await expect(row('Store')).toHaveCount(0);
});

test('the switcher shows one project by keyboard, and the URL keeps it', async () => {
  await page.goto(ORGANIZATION);
  await switcher('All projects').press('ArrowDown');
  // The code of menus may still be loading.
  await expect(page.getByRole('menuitemradio', { name: 'All projects' })).toBeFocused();
  await page.keyboard.press('End');
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(/\?project=prj_/);
  await expect(switcher('Shop')).toBeVisible();
  await expect(page.getByText('No apps in this project')).toBeVisible();
  await rail('Apps').click();
  await expect(page).toHaveURL(/\/apps\?project=prj_/);
  await expect(page.getByText('No apps in this project')).toBeVisible();
  await page.reload();
  await expect(switcher('Shop')).toBeVisible();
  await checkAppearance(page);
  await switcher('Shop').click();
  await page.getByRole('menuitemradio', { name: 'Default' }).click();
  await expect(row('hello')).toBeVisible();
  await switcher('Default').click();
  await page.getByRole('menuitemradio', { name: 'All projects' }).click();
  await expect(page).toHaveURL(/\/apps$/);
});

test('a live app moves to the project and serves its visitors again', async () => {
  await move('Shop');
  await expectServed();
  await page.goto(`${ORGANIZATION}/projects`);
  await row('Shop').getByRole('link', { name: 'Shop', exact: true }).press('Enter');
  await expect(page).toHaveURL(/\/apps\?project=prj_/);
  await expect(row('hello')).toBeVisible();
});

test('a project with an app stays, and its deletion says why', async () => {
  await page.goto(`${ORGANIZATION}/projects`);
  await openMenu('Shop', 'Delete Shop');
  const dialog = page.getByRole('dialog', { name: 'Delete the project Shop' });
  await expect(dialog).toContainText('Move or delete hello in its settings.');
  await checkAppearance(page);
  await dialog.getByRole('button', { name: 'Close', exact: true }).last().click();
  await expect(dialog).toBeHidden();
});

test('the app moves back, and the empty project is deleted by its name', async () => {
  await move('Default');
  await expectServed();
  await page.goto(`${ORGANIZATION}/projects`);
  await openMenu('Shop', 'Delete Shop');
  const dialog = page.getByRole('dialog', { name: 'Delete the project Shop' });
  await expect(dialog).toContainText('Its environment Production is deleted.');
  await checkAppearance(page);
  await dialog.getByRole('textbox').fill('Shop');
  await dialog.getByRole('button', { name: 'Delete Shop' }).click();
  await expect(page.getByText('Shop is deleted')).toBeVisible();
  await expect(row('Shop')).toHaveCount(0);
});
