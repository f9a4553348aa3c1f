// Browser tests of the certificates page: list, filter, upload, replacement and deletion. Runs after product.spec.ts,
// which leaves an app with a local name.
import { expect, type Page, test } from '@playwright/test';
import { makeChain } from '../../packages/core/src/testing/chain.ts';
import { ADA, signIn } from '../../tools/lib/dashboard-client.ts';
import { checkAppearance } from './accessibility.ts';
import { chooseFilter } from './list-filters.ts';
import { openSignedIn } from './signed-in.ts';

test.describe.configure({ mode: 'serial' });

const LIST = '/my-organization/certificates';
const HOST = 'shop.certificates.test';
const chain = makeChain({ names: [HOST, `www.${HOST}`], days: 10 });

let page: Page;

test.beforeAll(async ({ browser }) => {
  page = await openSignedIn(browser);
  const ada = await signIn(process.env.FAIRLEAD_E2E_URL ?? '', ADA);
  const { items } = await ada.query<{ items: { id: string; slug: string }[] }>('app.list', 'my-organization', {});
  const appId = items.find(({ slug }) => slug === 'hello')?.id;
  await ada.call('domain.attach', { appId, host: HOST }, 'my-organization');
});
test.afterAll(() => page.context().close());

const row = (name: string) => page.getByRole('row').filter({ hasText: name });
const dialog = (name: string) => page.getByRole('dialog', { name });

test('local names are listed with their source, and the list is filtered by state', async () => {
  await page.goto(LIST);
  await expect(row('hello.localhost')).toContainText('Local CA');
  await chooseFilter(page, 'State', 'Expired');
  await expect(page.getByText('No certificates match these filters')).toBeVisible();
  await expect(page).toHaveURL(/state=expired/);
  await checkAppearance(page);
  await chooseFilter(page, 'State', 'All states');
  await expect(row('hello.localhost')).toBeVisible();
});

test('a chain with another key is refused with the reason, and the right one is uploaded', async () => {
  await page.getByRole('button', { name: 'Upload certificate' }).click();
  const upload = dialog('Upload certificate');
  await upload.getByRole('button', { name: 'Upload certificate' }).click();
  await expect(upload.getByText('Paste the private key.')).toBeVisible();
  await upload.getByLabel('Certificate chain').fill([chain.leafPem, chain.rootPem, chain.intermediatePem].join('\n'));
  await upload.getByLabel('Private key').fill(makeChain({ names: [HOST] }).keyPem);
  await upload.getByRole('button', { name: 'Upload certificate' }).click();
  await expect(upload.getByText('The private key belongs to none of these certificates.')).toBeVisible();
  await checkAppearance(page);
  await upload.getByLabel('Private key').fill(chain.keyPem);
  await upload.getByRole('button', { name: 'Upload certificate' }).click();
  await expect(page.getByText(`It covers ${HOST}, www.${HOST}. The certificates were not in order.`)).toBeVisible();
  const added = row(HOST).filter({ hasText: 'Uploaded' });
  await expect(added).toContainText('Expires soon');
  await expect(added).toContainText(/[89] days/);
  await checkAppearance(page);
});

test('rows are reached by keyboard, and the page of the upload has its facts and history', async () => {
  await page.getByRole('searchbox').fill('certificates.test');
  await expect(row('hello.localhost')).toHaveCount(0);
  await page.getByRole('row').nth(1).getByRole('link').first().focus();
  await page.keyboard.press('End');
  await page.keyboard.press('Enter');
  await expect(page.getByRole('heading', { level: 1 })).toContainText(HOST);
  await expect(page.getByText('ECDSA P-256')).toBeVisible();
  await expect(page.getByRole('main').getByText('Uploaded', { exact: true })).toHaveCount(2);
  await checkAppearance(page);
});

test('the domain shows the upload, and the overview says that it expires', async () => {
  await page.getByRole('link', { name: HOST, exact: true }).click();
  await expect(page.getByText('Uploaded, issued by Test intermediate.')).toBeVisible();
  await page.goto('/my-organization');
  const attention = page.getByRole('region', { name: 'Needs attention' });
  await attention.getByRole('link', { name: `The uploaded certificate of ${HOST} expires` }).click();
  await expect(page.getByRole('heading', { level: 1 })).toContainText(HOST);
});

test('an upload is replaced, and deleted once its name is typed', async () => {
  await page.getByRole('button', { name: 'Replace certificate' }).click();
  const replace = dialog('Replace certificate');
  const next = makeChain({ names: [HOST], days: 300 });
  await replace.getByLabel('Certificate chain').fill([next.leafPem, next.intermediatePem, next.rootPem].join('\n'));
  await replace.getByLabel('Private key').fill(next.keyPem);
  await replace.getByRole('button', { name: 'Replace certificate' }).click();
  await expect(page.getByText('Certificate replaced')).toBeVisible();
  await expect(page.getByText('Replaced', { exact: true })).toBeVisible();
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  const remove = dialog(`Delete the certificate ${HOST}`);
  await expect(remove.getByRole('button', { name: `Delete ${HOST}` })).toBeDisabled();
  await remove.getByRole('textbox').fill(HOST);
  await remove.getByRole('button', { name: `Delete ${HOST}` }).click();
  await expect(page.getByText('Certificate deleted')).toBeVisible();
  await expect(page).toHaveURL(/\/certificates$/);
  await expect(row(HOST).filter({ hasText: 'Uploaded' })).toHaveCount(0);
});
