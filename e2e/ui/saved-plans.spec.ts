// Browser tests of saved benchmark plans, the queue, and the history of runs. Runs after product.spec.ts, which leaves the app.
import { readFile } from 'node:fs/promises';
import { expect, type Page, test } from '@playwright/test';
import { ADA, signIn } from '../../tools/lib/dashboard-client.ts';
import { checkAppearance } from './accessibility.ts';
import { openSignedIn } from './signed-in.ts';

test.describe.configure({ mode: 'serial' });

const ORGANIZATION = '/my-organization';
/** A run ends within seconds, but the machine may be busy. */
const MEASURED = { timeout: 60_000 };

let page: Page;

test.beforeAll(async ({ browser }) => {
  page = await openSignedIn(browser, { acceptDownloads: true });
});
test.afterAll(() => page.context().close());

const row = (name: string) => page.getByRole('row').filter({ has: page.getByRole('link', { name, exact: true }) });
const choose = async (name: string, action: string) => {
  await page.getByRole('button', { name: `Actions for ${name}` }).click();
  await page.getByRole('menuitem', { name: action, exact: true }).click();
};

test('each invalid field of the start dialog has an error, and a refused start focuses the first', async () => {
  await page.goto(`${ORGANIZATION}/benchmarks?start=hello`);
  const dialog = page.getByRole('dialog', { name: 'Start benchmark' });
  const start = dialog.getByRole('button', { name: 'Start', exact: true });
  const concurrency = dialog.getByLabel('Concurrency');
  // The footer stays in view.
  await expect(start).toBeInViewport({ ratio: 1 });
  await concurrency.fill('0');
  await start.click();
  await expect(concurrency).toBeFocused();
  await expect(concurrency).toBeInViewport({ ratio: 1 });
  await expect(dialog.getByText('Choose at least 1 client.')).toBeInViewport({ ratio: 1 });
  await checkAppearance(page);
  await concurrency.fill('1');
  await expect(dialog.getByText('Choose at least 1 client.')).toHaveCount(0);

  await dialog.getByLabel('Workers').fill('x');
  await expect(dialog.getByLabel('Path', { exact: true })).toBeEnabled();
  await dialog.getByLabel('Workers').fill('');
  await dialog.getByLabel('Requests per second').fill('fast');
  await expect(dialog.getByText('Enter a number from 1 to 100000, or leave it empty.')).toBeVisible();
  await dialog.getByLabel('Requests per second').fill('');
  await dialog.getByLabel('HTTP/2').uncheck();
  await dialog.getByLabel('HTTP/1.1').uncheck();
  await expect(dialog.getByText('Choose at least 1 protocol.')).toBeVisible();
  await dialog.getByRole('button', { name: 'Save as plan' }).click();
  await expect(dialog.getByLabel('HTTP/1.1')).toBeFocused();
  await dialog.getByLabel('HTTP/1.1').check();

  await dialog.getByRole('button', { name: 'Add threshold' }).click();
  const limit = dialog.getByLabel('Limit');
  await expect(limit).not.toHaveAttribute('aria-invalid');
  await start.click();
  await expect(limit).toBeFocused();
  await expect(limit).toHaveAttribute('aria-invalid');
});

test('a plan is saved in the start dialog, and a run starts from it', async () => {
  await page.goto(`${ORGANIZATION}/benchmarks?start=hello`);
  const dialog = page.getByRole('dialog', { name: 'Start benchmark' });
  await dialog.getByLabel('Concurrency').fill('2');
  await dialog.getByLabel('Seconds per row').selectOption('1');
  await dialog.getByLabel('Rounds').selectOption('1');
  await dialog.getByLabel('HTTP/2').uncheck();
  await dialog.getByRole('button', { name: 'Save as plan' }).click();
  await dialog.getByLabel('Plan name').fill('Smoke');
  await dialog.getByRole('button', { name: 'Save plan' }).click();
  await expect(dialog.getByLabel('Plan', { exact: true })).toHaveValue(/^bpl_/);

  // A changed plan is not the saved one, until it is chosen again.
  await dialog.getByLabel('Concurrency').fill('3');
  await expect(dialog.getByLabel('Plan', { exact: true })).toHaveValue('');
  await dialog.getByLabel('Plan', { exact: true }).selectOption('Smoke');
  await expect(dialog.getByLabel('Concurrency')).toHaveValue('2');
  await checkAppearance(page);
  await dialog.getByRole('button', { name: 'Start', exact: true }).click();
  await expect(page).toHaveURL(/\/benchmarks\/run_/);
  await expect(page.getByText('Plan Smoke', { exact: true })).toBeVisible();
  await expect(page.getByText('Succeeded', { exact: true })).toBeVisible(MEASURED);
});

test('a repeat of the run keeps the name of the plan', async () => {
  const runUrl = page.url();
  await page.getByRole('button', { name: 'Run again' }).click();
  await expect(page).not.toHaveURL(runUrl);
  await expect(page).toHaveURL(/\/benchmarks\/run_/);
  await expect(page.getByText('Plan Smoke', { exact: true })).toBeVisible();
  await expect(page.getByText('Succeeded', { exact: true })).toBeVisible(MEASURED);
});

test('tags and a note lead back to the run', async () => {
  const runUrl = page.url();
  await page.getByRole('button', { name: 'Edit notes' }).click();
  await page.getByLabel('Tags').fill('smoke, a tag that is longer than thirty characters');
  await page.getByRole('button', { name: 'Save notes' }).click();
  await expect(page.getByText('A tag has at most 30 characters.')).toBeVisible();
  await page.getByLabel('Tags').fill('smoke, quiet machine');
  await page.getByLabel('Note').fill('Before the new kernel.');
  await page.getByRole('button', { name: 'Save notes' }).click();
  await expect(page.getByText('Before the new kernel.')).toBeVisible();
  await checkAppearance(page);

  await page.goto(`${ORGANIZATION}/benchmarks`);
  await page.getByRole('searchbox', { name: 'Search benchmarks' }).fill('new kernel');
  await expect(page).toHaveURL(/search=new\+kernel/);
  const found = page.locator('tbody').getByRole('link');
  await expect(found).toHaveCount(1);
  await page.getByRole('searchbox', { name: 'Search benchmarks' }).fill('nowhere');
  await expect(page.getByText('No benchmarks match these filters')).toBeVisible();
  await page.goto(`${ORGANIZATION}/benchmarks?tag=quiet+machine&state=succeeded`);
  await expect(found).toHaveCount(1);
  await checkAppearance(page);
  await found.click();
  await expect(page).toHaveURL(runUrl);
});

test('a second run waits in the queue, and can be cancelled there', async () => {
  const dashboard = await signIn(process.env.FAIRLEAD_E2E_URL ?? '', ADA);
  const slug = ORGANIZATION.slice(1);
  const { id: appId } = await dashboard.query<{ id: string }>('app.get', slug, { slug: 'hello' });
  const plan = { protocols: ['http1'], concurrency: [1], repeats: 1, durationMs: 30_000 };
  const start = () => dashboard.call<{ runId: string }>('benchmark.create', { appId, plan }, slug);
  const [first, second] = [await start(), await start()];
  await page.goto(`${ORGANIZATION}/benchmarks/${second.runId}`);
  await expect(page.getByText('Waiting behind 1 other run')).toBeVisible();
  await page.getByRole('button', { name: 'Cancel', exact: true }).click();
  await expect(page.getByText('Cancelled', { exact: true }).first()).toBeVisible();
  await dashboard.call('benchmark.cancel', { runId: first.runId }, slug);

  await page.getByRole('button', { name: 'More actions' }).click();
  await page.getByRole('menuitem', { name: 'Delete run' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete run' }).click();
  await expect(page).toHaveURL(/\/benchmarks$/);
});

test('a plan is downloaded, and its file is uploaded with an error at the field', async () => {
  await page.goto(`${ORGANIZATION}/benchmarks/plans`);
  await expect(row('Smoke')).toContainText('Concurrency 2');
  const download = page.waitForEvent('download');
  await choose('Smoke', 'Download');
  const file = await download;
  expect(file.suggestedFilename()).toBe('fairlead.bench.json');
  const document = JSON.parse(await readFile(await file.path(), 'utf8'));
  expect(document).toMatchObject({ format: 'fairlead-plan-1', name: 'Smoke', plan: { concurrency: [2] } });

  await page.getByRole('button', { name: 'Upload plan' }).click();
  const dialog = page.getByRole('dialog', { name: 'Upload plan' });
  await dialog.getByLabel('App').selectOption({ label: 'hello' });
  const upload = async (content: object) => {
    const buffer = Buffer.from(JSON.stringify(content));
    await dialog.getByLabel('File').setInputFiles({ name: 'plan.json', mimeType: 'application/json', buffer });
    await dialog.getByRole('button', { name: 'Upload plan' }).click();
  };
  await upload({ ...document, name: 'Burst', plan: { ...document.plan, concurrency: [2, 0] } });
  await expect(dialog.getByText('plan.concurrency[1]')).toBeVisible();
  await checkAppearance(page);
  await upload(document);
  await expect(dialog.getByText('already has a benchmark plan with this name')).toBeVisible();
  await upload({ ...document, name: 'Burst', plan: { ...document.plan, concurrency: [64] } });
  await expect(row('Burst')).toContainText('Concurrency 64');
});

test('a plan gets a schedule, which is paused and resumed', async () => {
  await choose('Smoke', 'Schedule');
  const dialog = page.getByRole('dialog', { name: 'Schedule Smoke' });
  await dialog.getByLabel('Day').selectOption('Monday');
  await dialog.getByLabel('Hour').selectOption('04:00');
  await dialog.getByLabel('Time zone').selectOption('UTC');
  await checkAppearance(page);
  await dialog.getByRole('button', { name: 'Save schedule' }).click();
  await expect(row('Smoke')).toContainText('Monday 04:00');
  await expect(row('Smoke')).toContainText('Next');
  await choose('Smoke', 'Pause schedule');
  await expect(row('Smoke')).toContainText('Paused');
  await choose('Smoke', 'Resume schedule');
  await expect(row('Smoke')).not.toContainText('Paused');
});

test('a plan is renamed and deleted', async () => {
  await choose('Burst', 'Edit');
  const dialog = page.getByRole('dialog', { name: 'Edit Burst' });
  await dialog.getByLabel('Name').fill('Peak');
  await dialog.getByRole('button', { name: 'Save plan' }).click();
  await expect(row('Peak')).toBeVisible();
  await choose('Peak', 'Delete');
  await page.getByRole('dialog').getByRole('button', { name: 'Delete plan' }).click();
  await expect(row('Peak')).toHaveCount(0);
  await expect(row('Smoke')).toBeVisible();
  await checkAppearance(page);
});

test('a run that was measured elsewhere is imported, and marked', async () => {
  const dashboard = await signIn(process.env.FAIRLEAD_E2E_URL ?? '', ADA);
  const slug = ORGANIZATION.slice(1);
  const { items } = await dashboard.query<{ items: { id: string }[] }>('benchmark.list', slug, { tag: 'smoke' });
  const document = await dashboard.query<object>('benchmark.export', slug, { runId: items[0]?.id });

  await page.goto(`${ORGANIZATION}/benchmarks`);
  await page.getByRole('button', { name: 'Import run' }).click();
  const dialog = page.getByRole('dialog', { name: 'Import run' });
  await dialog.getByLabel('App').selectOption({ label: 'hello' });
  const upload = async (content: object) => {
    const buffer = Buffer.from(JSON.stringify(content));
    await dialog.getByLabel('File').setInputFiles({ name: 'run.json', mimeType: 'application/json', buffer });
    await dialog.getByRole('button', { name: 'Import run' }).click();
  };
  await upload({ ...document, state: 'failed' });
  await expect(dialog.getByText('Only a run that succeeded can be imported.')).toBeVisible();
  await checkAppearance(page);
  await upload(document);
  await expect(page).toHaveURL(/\/benchmarks\/run_/);
  await expect(page.getByText('Imported', { exact: true })).toBeVisible();
  await expect(page.getByText('measured elsewhere', { exact: false }).first()).toBeVisible();
  await expect(page.getByRole('button', { name: 'Run again' })).toHaveCount(0);
  await checkAppearance(page);
});

test('requests of a HAR file are imported without credentials, and writes need a confirmation', async () => {
  await page.goto(`${ORGANIZATION}/benchmarks?start=hello`);
  const dialog = page.getByRole('dialog', { name: 'Start benchmark' });
  await dialog.getByLabel('Concurrency').fill('2');
  await dialog.getByLabel('Seconds per row').selectOption('1');
  await dialog.getByLabel('Rounds').selectOption('1');
  const request = (method: string, url: string) => ({
    request: { method, url, headers: [{ name: 'Cookie', value: 'sid=canary' }] },
  });
  const entries = [
    ...['/', '/', '/healthz'].map((path) => request('GET', `https://hello.localhost${path}`)),
    request('POST', 'https://hello.localhost/'),
    request('GET', 'https://cdn.example.com/a.js'),
  ];
  const buffer = Buffer.from(JSON.stringify({ log: { version: '1.2', entries } }));
  await dialog.getByLabel('Import HAR file').setInputFiles({ name: 'shop.har', mimeType: 'application/json', buffer });
  await expect(dialog.getByRole('status').filter({ hasText: 'imported' })).toHaveText(
    'Distinct requests imported: 3. Left out: 1 of other hosts. Cookies and credential headers dropped: 4.',
  );
  await expect(dialog.getByLabel('Request path')).toHaveCount(3);
  await expect(dialog.getByLabel('Weight').first()).toHaveValue('2');
  await dialog.getByRole('button', { name: 'Remove the request GET /healthz' }).click();
  await dialog.getByLabel('Headers').first().fill('Cookie: sid=canary');
  await expect(dialog.getByText("it can't hold credentials such as Cookie")).toBeVisible();
  const start = dialog.getByRole('button', { name: 'Start', exact: true });
  await start.click();
  await expect(dialog.getByLabel('Headers').first()).toBeFocused();
  await dialog.getByLabel('Headers').first().fill('Accept: text/html');
  await start.click();
  const confirmation = dialog.getByLabel('Send requests that may change data');
  await expect(confirmation).toBeFocused();
  await expect(dialog.getByText('Check this box to start the benchmark.')).toBeVisible();
  await confirmation.check();
  await checkAppearance(page);
  await start.click();
  await expect(page).toHaveURL(/\/benchmarks\/run_/);
  await expect(page.getByText('2 × GET /, with Accept')).toBeVisible();
  await expect(page.getByText('1 × POST /')).toBeVisible();
  await expect(page.getByText('Succeeded', { exact: true })).toBeVisible(MEASURED);
  await expect(page.getByRole('button', { name: 'Run again' })).toHaveCount(0);
  await checkAppearance(page);
});
