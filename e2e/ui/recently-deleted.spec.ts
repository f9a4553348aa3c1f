// Browser tests of deleted apps: deleted by name, undone at once, restored from the list, and deleted permanently. Runs after
// product.spec.ts, which leaves a live app.
import { expect, type Page, test } from '@playwright/test';
import { ADA, signIn } from '../../tools/lib/dashboard-client.ts';
import { startTraffic } from '../../tools/lib/traffic.ts';
import { checkAppearance } from './accessibility.ts';
import { openSignedIn } from './signed-in.ts';

test.describe.configure({ mode: 'serial' });

const ORGANIZATION = '/my-organization';
const STARTED = { timeout: 60_000 };

let page: Page;

test.beforeAll(async ({ browser }) => {
  page = await openSignedIn(browser);
});
test.afterAll(() => page.context().close());

const appRow = (name: string) => page.getByRole('row').filter({ has: page.getByRole('link', { name, exact: true }) });
const deletedRow = (name: string) => page.getByRole('listitem').filter({ hasText: `${name} in Default` });
const toast = (text: string) => page.getByRole('region', { name: 'Notifications' }).getByText(text, { exact: true });

async function remove(name: string): Promise<void> {
  await page.goto(`${ORGANIZATION}/apps/${name}/settings/danger`);
  await page.getByRole('button', { name: `Delete ${name}` }).click();
  const dialog = page.getByRole('dialog', { name: `Delete the app ${name}` });
  await expect(dialog).toContainText('For seven days you can restore it');
  await checkAppearance(page);
  await dialog.getByRole('textbox').fill(name);
  await dialog.getByRole('button', { name: `Delete ${name}` }).click();
  await expect(toast(`${name} is deleted`)).toBeVisible();
  await expect(page).toHaveURL(/\/apps$/);
  await expect(appRow(name)).toHaveCount(0);
}

/** Waits until the app is live, and checks that it serves requests without a failure. */
async function expectServed(): Promise<void> {
  await page.goto(`${ORGANIZATION}/apps`);
  await expect(appRow('hello')).toContainText('Live', STARTED);
  const { FAIRLEAD_E2E_HTTPS_PORT: port, FAIRLEAD_E2E_CA: caFile } = process.env;
  if (port === undefined || caFile === undefined) throw new Error('global-setup.ts did not run');
  const visitors = startTraffic({ host: 'hello.localhost', port: Number(port), caFile, path: '/', connections: 1 });
  await visitors.more(20, 30_000);
  expect((await visitors.stop()).failures).toEqual([]);
}

test('a deletion is undone at once', async () => {
  await remove('hello');
  await page.getByRole('button', { name: 'Undo' }).click();
  await expect(toast('The app is restored')).toBeVisible();
  await expect(appRow('hello')).toBeVisible();
  await expectServed();
});

test('a deleted app is listed with its time left, and restored from there', async () => {
  await remove('hello');
  await page.getByRole('link', { name: 'Recently deleted' }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'Recently deleted' })).toBeVisible();
  await expect(deletedRow('hello')).toContainText(`by ${ADA.name} · 7 days left`);
  await checkAppearance(page);
  await deletedRow('hello').getByRole('button', { name: 'Restore' }).click();
  await expect(toast('The app is restored')).toBeVisible();
  await expect(page.getByText('No deleted apps')).toBeVisible();
  await checkAppearance(page);
  await expectServed();
});

test('an app is deleted permanently by its name, and its name is free again', async () => {
  const ada = await signIn(process.env.FAIRLEAD_E2E_URL ?? '', ADA);
  const { items } = await ada.query<{ items: { id: string }[] }>('server.list', 'my-organization');
  const draft = {
    name: 'draft',
    source: { kind: 'git', repositoryUrl: 'https://git.example.test/draft.git' },
    serverIds: [items[0]?.id],
    firstDeploy: 'none',
  };
  await ada.call('app.create', draft, 'my-organization');
  await remove('draft');
  await page.goto(`${ORGANIZATION}/apps?view=deleted`);
  await deletedRow('draft').getByRole('button', { name: 'Delete permanently' }).click();
  const dialog = page.getByRole('dialog', { name: 'Delete draft permanently' });
  await expect(dialog).toContainText("This can't be undone.");
  await checkAppearance(page);
  await dialog.getByRole('textbox').fill('draft');
  await dialog.getByRole('button', { name: 'Delete permanently' }).click();
  await expect(toast('draft is deleted permanently')).toBeVisible();
  await expect(page.getByText('No deleted apps')).toBeVisible();
  const { id: appId } = await ada.call<{ id: string }>('app.create', draft, 'my-organization');
  await ada.call('app.delete', { appId, confirmName: 'draft' }, 'my-organization');
  await ada.call('app.purge', { appId, confirmName: 'draft' }, 'my-organization');
});
