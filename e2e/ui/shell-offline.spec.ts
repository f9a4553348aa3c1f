// Browser tests without a network: changes fail at once, and the dashboard stays. Runs after product.spec.ts.
import { expect, type Page, test } from '@playwright/test';
import { openSignedIn } from './signed-in.ts';

test.describe.configure({ mode: 'serial' });

const APP = '/my-organization/apps/hello';

let page: Page;

test.beforeAll(async ({ browser }) => {
  page = await openSignedIn(browser);
});
test.afterAll(() => page.context().close());

const heading = (name: string) => page.getByRole('heading', { level: 1, name });
const note = () => page.getByText("You're offline. Pages open again");

async function goOffline(isOffline: boolean): Promise<void> {
  await page.context().setOffline(isOffline);
  await expect(note()).toHaveCount(isOffline ? 1 : 0);
}

async function countDeployments(): Promise<number> {
  const input = encodeURIComponent(JSON.stringify({ json: { limit: 100 } }));
  const response = await page.context().request.get(`/api/trpc/deployment.list?input=${input}`, {
    headers: { 'x-fairlead-organization': 'my-organization' },
  });
  const body = (await response.json()) as { result: { data: { json: { items: unknown[] } } } };
  return body.result.data.json.items.length;
}

test('a change fails at once with a retry, and is not sent when the network is back', async () => {
  // Without a network, the page could not load its last scripts, and the click would be lost.
  await page.goto(APP, { waitUntil: 'networkidle' });
  await expect(page.locator('[data-connection="live"]')).toBeVisible();
  const before = await countDeployments();
  await goOffline(true);
  // Figures on the page may be out of date.
  await expect(page.locator('[data-connection="lost"]')).toBeVisible();
  await page.getByRole('button', { name: 'Deploy', exact: true }).click();
  const toast = page.getByRole('region', { name: 'Notifications' });
  await expect(toast).toContainText("The app wasn't deployed");
  await expect(toast).toContainText("You're offline, so nothing was sent.");
  await toast.getByRole('button', { name: 'Try again' }).hover();
  await goOffline(false);
  await expect(page.locator('[data-connection="live"]')).toBeVisible();
  expect(await countDeployments()).toBe(before);
  await expect(page).toHaveURL(new RegExp(`${APP}$`));
  await toast.getByRole('button', { name: 'Try again' }).click();
  await expect(page).toHaveURL(/\/deployments\/dep_/);
  await expect(page.locator('header').first()).toContainText('Live', { timeout: 60_000 });
});

test('a link waits for the network on its page, which says so', async () => {
  await page.goto(APP);
  await expect(page.locator('[data-connection="live"]')).toBeVisible();
  await goOffline(true);
  await page.getByRole('navigation', { name: 'Main', exact: true }).getByRole('link', { name: 'Domains' }).click();
  await expect(page.getByRole('progressbar', { name: 'Loading page' })).toBeVisible();
  await expect(heading('hello')).toBeVisible();
  await expect(note()).toBeVisible();
  await goOffline(false);
  await expect(heading('Domains')).toBeVisible();
  await expect(page.getByRole('progressbar', { name: 'Loading page' })).toHaveCount(0);
});
