// The page of a domain in a browser: a policy that is refused says where, one that is saved is there after a reload and
// without its passwords, and detaching a domain that has one asks first. Runs after product.spec.ts, which leaves the app.
import { expect, type Page, test } from '@playwright/test';
import { look } from './accessibility.ts';
import { openSignedIn } from './signed-in.ts';

test.describe.configure({ mode: 'serial' });

const APP = '/my-organization/apps/hello';
const HOST = 'guarded.localhost';

let page: Page;

test.beforeAll(async ({ browser }) => {
  page = await openSignedIn(browser);
});
test.afterAll(() => page.context().close());

test('a domain leads from its app to its page', async () => {
  await page.goto(`${APP}/domains`);
  await page.getByRole('textbox', { name: 'Attach a domain' }).fill(HOST);
  await page.getByRole('button', { name: 'Attach' }).click();
  await page.getByRole('link', { name: `The policy of ${HOST}` }).click();
  await expect(page.getByRole('heading', { level: 1, name: HOST })).toBeVisible();
  await expect(page.getByRole('button', { name: 'Save' })).toBeDisabled();
});

test('what is refused is marked, and nothing is saved', async () => {
  await page.getByRole('checkbox', { name: 'Ask for a name and a password' }).check();
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill('ann');
  await page.getByLabel('Password', { exact: true }).fill('short');
  await page.getByRole('textbox', { name: 'Turn away' }).fill('192.0.2.0/99');
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(page.getByText('A password has at least 8 characters.')).toBeVisible();
  await expect(page.getByText('Something above was refused; it says why.')).toBeVisible();
  await look(page);
});

test('a policy is saved, and its passwords are never shown again', async () => {
  await page.getByLabel('Password', { exact: true }).fill('correct horse');
  await page.getByRole('textbox', { name: 'Turn away' }).fill('192.0.2.0/24\n2001:db8::/32');
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(page.getByText('Saved', { exact: true })).toBeVisible();
  await page.reload();
  await expect(page.getByRole('textbox', { name: 'Name', exact: true })).toHaveValue('ann');
  await expect(page.getByLabel('Password', { exact: true })).toHaveValue('');
  await expect(page.getByText('Empty: as it was.')).toBeVisible();
  await expect(page.getByRole('textbox', { name: 'Turn away' })).toHaveValue('192.0.2.0/24\n2001:db8::/32');
  expect(await page.content()).not.toContain('pbkdf2');
});

test('detaching a domain with a policy asks first', async () => {
  await page.goto(`${APP}/domains`);
  await expect(page.getByRole('link', { name: `The policy of ${HOST}` })).toHaveText('Has a policy');
  await page.getByRole('button', { name: `Detach ${HOST}` }).click();
  await expect(page.getByText('Its policy goes with it', { exact: false })).toBeVisible();
  await look(page);
  await page.getByRole('button', { name: 'Detach it' }).click();
  await expect(page.getByRole('link', { name: `The policy of ${HOST}` })).toHaveCount(0);
});
