// Browser tests of API tokens, service accounts and the filters of the audit log, which records both. Runs after
// product.spec.ts, which leaves an app.
import { type APIResponse, expect, type Page, test } from '@playwright/test';
import { ADA, signIn } from '../../tools/lib/dashboard-client.ts';
import { checkAppearance } from './accessibility.ts';
import { chooseFilter } from './list-filters.ts';
import { openSignedIn } from './signed-in.ts';

test.describe.configure({ mode: 'serial' });

const TOKENS = '/my-organization/settings/tokens';
const AUDIT = '/my-organization/settings/audit';

let page: Page;
let appId = '';

test.beforeAll(async ({ browser }) => {
  page = await openSignedIn(browser);
  const ada = await signIn(process.env.FAIRLEAD_E2E_URL ?? '', ADA);
  ({ id: appId } = await ada.query<{ id: string }>('app.get', 'my-organization', { slug: 'hello' }));
});
test.afterAll(() => page.context().close());

const rowOf = (name: string) => page.getByRole('row').filter({ hasText: name });

/** Calls the HTTP API with a token alone, as a script does. */
async function call(token: string, path: string, data?: object): Promise<[status: number, code: string | undefined]> {
  const headers = { authorization: `Bearer ${token}`, cookie: '' };
  const answer: APIResponse = await (data === undefined
    ? page.request.get(`/api/v1/${path}`, { headers })
    : page.request.post(`/api/v1/${path}`, { headers, data }));
  const { code } = (await answer.json()) as { readonly code?: string };
  return [answer.status(), code];
}

/** Fills the dialog that creates a token, and returns the token that it shows once. */
async function createToken(title: string, name: string, permissions: readonly string[]): Promise<string> {
  const dialog = page.getByRole('dialog', { name: title });
  const create = dialog.getByRole('button', { name: 'Create token' });
  await dialog.getByLabel('Name', { exact: true }).fill(name);
  await expect(create).toBeDisabled();
  for (const permission of permissions) await dialog.getByRole('checkbox', { name: permission, exact: true }).check();
  await create.click();
  const created = page.getByRole('dialog', { name: 'Copy your token now' });
  const token = (await created.getByText(/^flt_/).textContent()) ?? '';
  await created.getByRole('button', { name: 'Done' }).click();
  return token;
}

async function setDeploysPaused(token: string, paused: boolean) {
  return call(token, 'deployment/pause', { appId, paused });
}

test('a token is shown once, has its permissions only, and ends when it is revoked', async () => {
  await page.goto(TOKENS);
  await page.getByRole('button', { name: 'Create token' }).click();
  const dialog = page.getByRole('dialog', { name: 'Create token' });
  await dialog.getByLabel('Name', { exact: true }).fill('nightly report');
  await dialog.getByRole('checkbox', { name: 'See apps', exact: true }).check();
  await dialog.getByLabel('Allowed IPs').fill('the office');
  await dialog.getByRole('button', { name: 'Create token' }).click();
  await expect(dialog.getByLabel('Allowed IPs')).toHaveAttribute('aria-invalid', 'true');
  await checkAppearance(page);
  await dialog.getByLabel('Allowed IPs').fill('');
  await dialog.getByRole('checkbox', { name: 'See apps', exact: true }).uncheck();
  const token = await createToken('Create token', 'nightly report', ['See apps']);

  await expect(rowOf('nightly report')).toContainText(`flt_…${token.slice(-4)}`);
  await expect(rowOf('nightly report')).toContainText('See apps');
  await page.reload();
  await expect(rowOf('nightly report')).toBeVisible();
  expect(await page.content()).not.toContain(token);
  expect(await call(token, 'app/list')).toEqual([200, undefined]);
  expect(await setDeploysPaused(token, false)).toEqual([403, 'permission.denied']);

  await rowOf('nightly report').getByRole('button', { name: 'Revoke' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke nightly report' }).click();
  await expect(rowOf('nightly report')).toHaveCount(0);
  expect((await call(token, 'app/list'))[0]).toBe(401);
});

test("a service account's tokens have its role, and are refused once it is deleted", async () => {
  await page.getByRole('button', { name: 'Add service account' }).click();
  const add = page.getByRole('dialog', { name: 'Add service account' });
  await add.getByLabel('Name').fill('pipeline');
  await add.getByLabel('Role').selectOption({ value: 'developer' });
  await add.getByRole('button', { name: 'Add', exact: true }).click();
  const role = page.getByLabel('Role of pipeline');
  await expect(role).toHaveValue('developer');
  await page.getByRole('button', { name: 'Create token' }).last().click();
  const token = await createToken('Create token for pipeline', 'releases', ['Deploy, roll back, cancel']);
  await expect(rowOf('releases')).toContainText('Deploy, roll back, cancel');
  expect(await setDeploysPaused(token, true)).toEqual([200, undefined]);
  expect(await setDeploysPaused(token, false)).toEqual([200, undefined]);

  await role.selectOption({ value: 'viewer' });
  await expect.poll(() => setDeploysPaused(token, true)).toEqual([403, 'permission.denied']);
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  const dialog = page.getByRole('dialog', { name: 'Delete the service account pipeline' });
  await expect(dialog).toContainText('Its token stops working immediately, and so does everything that uses it.');
  await dialog.getByRole('textbox').fill('pipeline');
  await dialog.getByRole('button', { name: 'Delete pipeline' }).click();
  await expect(page.getByText('No service accounts')).toBeVisible();
  expect((await setDeploysPaused(token, true))[0]).toBe(401);
});

test('the audit log is filtered by action, actor, name and day, by its URL, and exported so', async () => {
  const rows = page
    .getByRole('table')
    .first()
    .getByRole('row')
    .filter({ hasNot: page.getByRole('columnheader') });
  await page.goto(AUDIT);
  await chooseFilter(page, 'Action', 'Service accounts');
  await expect(page).toHaveURL(/action=service_account/);
  await expect(rows).toHaveCount(3);
  for (const row of await rows.all()) await expect(row).toContainText(ADA.name);
  await page.reload();
  await expect(rows).toHaveCount(3);

  // The event of the role says what it was before.
  await rows.filter({ hasText: 'changed the service account' }).getByRole('button').click();
  const event = page.getByRole('dialog');
  await expect(event.getByRole('row').filter({ hasText: 'role' })).toContainText(/developer.*viewer/);
  await checkAppearance(page);
  await page.keyboard.press('Escape');

  const csv = page.getByRole('link', { name: 'CSV' });
  const exported = await page.request.get((await csv.getAttribute('href')) ?? '');
  const lines = (await exported.text()).trim().split(/\r?\n/).slice(1);
  expect(lines).toHaveLength(3);
  expect(lines.every((line) => line.includes('service_account.'))).toBe(true);

  await chooseFilter(page, 'Actor', 'API tokens');
  await expect(page.getByText('No events match these filters')).toBeVisible();
  await chooseFilter(page, 'Action', 'Deployments');
  await expect(rows.first()).toContainText('API token');
  await page.getByLabel('From (day)').fill('2999-01-01');
  await expect(page.getByText('No events match these filters')).toBeVisible();
  await page.goto(`${AUDIT}?search=pipeline`);
  await expect(rows.first()).toContainText('pipeline');
  await page.getByLabel('Search by name').fill('nothing has this name');
  await expect(page.getByText('No events match these filters')).toBeVisible();
  await page.getByRole('button', { name: 'Verify log' }).click();
  await expect(page.getByText(/^Log verified: [\d,]+ events\.$/)).toBeVisible();
});
