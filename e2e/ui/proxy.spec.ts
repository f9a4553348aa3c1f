// Browser tests of the domain page: validation errors, saved policies without their passwords, and the confirmation
// before a domain with a policy is detached. Runs after product.spec.ts, which leaves the app.
import { expect, type Page, test } from '@playwright/test';
import { checkAppearance } from './accessibility.ts';
import { openSignedIn } from './signed-in.ts';

test.describe.configure({ mode: 'serial' });

const APP = '/my-organization/apps/hello';
const HOST = 'guarded.localhost';

let page: Page;

test.beforeAll(async ({ browser }) => {
  page = await openSignedIn(browser);
});
test.afterAll(() => page.context().close());

const savePolicy = () => page.getByRole('form', { name: 'Policy' }).getByRole('button', { name: 'Save' });

test('a domain leads from its app to its page', async () => {
  await page.goto(`${APP}/domains`);
  await page.getByRole('textbox', { name: 'Attach domain' }).fill(HOST);
  await page.getByRole('button', { name: 'Attach' }).click();
  await page.getByRole('link', { name: `Policy: ${HOST}`, exact: true }).click();
  await expect(page.getByRole('heading', { level: 1, name: HOST })).toBeVisible();
  await expect(savePolicy()).toBeDisabled();
});

test('a refused field is marked, and nothing is saved', async () => {
  await page.getByRole('checkbox', { name: 'Basic authentication' }).check();
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill('ann');
  await page.getByLabel('Password', { exact: true }).fill('short');
  await page.getByRole('textbox', { name: 'Deny' }).fill('192.0.2.0/99');
  await savePolicy().click();
  await expect(page.getByText('A password has at least 8 characters.')).toBeVisible();
  await expect(page.getByText(/^2 fields need attention: /)).toBeVisible();
  await checkAppearance(page);
});

test('a policy is saved, and its passwords are never shown again', async () => {
  await page.getByLabel('Password', { exact: true }).fill('correct horse');
  await page.getByRole('textbox', { name: 'Deny' }).fill('192.0.2.0/24\n2001:db8::/32');
  await savePolicy().click();
  await expect(page.getByText('Saved', { exact: true })).toBeVisible();
  await page.reload();
  await expect(page.getByRole('textbox', { name: 'Name', exact: true })).toHaveValue('ann');
  await expect(page.getByLabel('Password', { exact: true })).toHaveValue('');
  await expect(page.getByText('Leave blank to keep the password.')).toBeVisible();
  await expect(page.getByRole('textbox', { name: 'Deny' })).toHaveValue('192.0.2.0/24\n2001:db8::/32');
  expect(await page.content()).not.toContain('pbkdf2');
});

test('a path of a host is attached with its prefix stripped', async () => {
  await page.goto(`${APP}/domains`);
  await page.getByRole('textbox', { name: 'Attach domain' }).fill(`${HOST}/a b`);
  await page.getByRole('button', { name: 'Attach' }).click();
  await expect(page.getByText('Enter the beginning of a path', { exact: false })).toBeVisible();
  await page.getByRole('textbox', { name: 'Attach domain' }).fill(`${HOST}/api`);
  await page.getByRole('button', { name: 'Attach' }).click();
  await page.getByRole('link', { name: `Policy: ${HOST}/api` }).click();
  await expect(page.getByRole('heading', { level: 1, name: `${HOST}/api` })).toBeVisible();
  await page.getByRole('checkbox', { name: 'Strip path prefix /api' }).check();
  await savePolicy().click();
  await expect(page.getByText('Saved', { exact: true })).toBeVisible();
});

test('detaching a domain with a policy asks first', async () => {
  await page.goto(`${APP}/domains`);
  await expect(page.getByRole('link', { name: `Has a policy: ${HOST}`, exact: true })).toBeVisible();
  await page.getByRole('button', { name: `Detach ${HOST}`, exact: true }).click();
  await expect(page.getByText('Its policy is deleted too', { exact: false })).toBeVisible();
  await checkAppearance(page);
  await page.getByRole('dialog').getByRole('button', { name: 'Detach', exact: true }).click();
  await expect(page.getByRole('link', { name: `Has a policy: ${HOST}`, exact: true })).toHaveCount(0);
});

test('load balancing is set in the settings, and needs no deployment', async () => {
  await page.goto(`${APP}/settings/traffic`);
  await page.getByRole('combobox', { name: 'Sticky sessions' }).selectOption('Cookie');
  await page.getByRole('textbox', { name: 'Cookie name' }).fill('a b');
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(page.getByText('Enter the name of a cookie', { exact: false })).toBeVisible();
  await checkAppearance(page);
  await page.getByRole('textbox', { name: 'Cookie name' }).fill('hello');
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(page.getByText(/^Saved as version \d+\. Servers apply it now\.$/)).toBeVisible();
  await page.reload();
  await expect(page.getByRole('textbox', { name: 'Cookie name' })).toHaveValue('hello');
  await page.goto(`${APP}/settings`);
  await expect(page.getByRole('listitem').filter({ hasText: 'Sticky sessions' }).first()).toBeVisible();
});

test("a server's proxy is configured on its page", async () => {
  await page.goto('/my-organization/servers');
  await page.getByRole('link', { name: 'local' }).first().click();
  const form = page.getByRole('form', { name: 'Proxy' });
  await form.getByRole('checkbox', { name: 'PROXY protocol' }).check();
  await form.getByRole('button', { name: 'Save' }).click();
  await expect(form.getByText('Add trusted proxies first', { exact: false })).toBeVisible();
  await checkAppearance(page);
  await form.getByRole('checkbox', { name: 'PROXY protocol' }).uncheck();
  await form.getByRole('textbox', { name: 'Trusted proxies' }).fill('192.0.2.0/24');
  await form.getByRole('combobox', { name: 'Format' }).selectOption('JSON');
  await form.getByRole('button', { name: 'Save' }).click();
  await expect(page.getByText('Saved', { exact: true })).toBeVisible();
  await page.reload();
  await expect(form.getByRole('textbox', { name: 'Trusted proxies' })).toHaveValue('192.0.2.0/24');
});
