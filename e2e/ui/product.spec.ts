// Browser tests of the first use: set-up, sample app live, deployment log, live charts, benchmark, rollback.
import { expect, type Page, test } from '@playwright/test';
import { ADA, signIn } from '../../tools/lib/dashboard-client.ts';
import { startTraffic, type Traffic } from '../../tools/lib/traffic.ts';

test.describe.configure({ mode: 'serial' });

const ORGANIZATION = '/my-organization';
const DEPLOYED = { timeout: 60_000 };

let page: Page;
/** Errors in the browser's console; a good page has none. */
const consoleErrors: string[] = [];

test.beforeAll(async ({ browser }) => {
  const context = await browser.newContext({ baseURL: process.env.FAIRLEAD_E2E_URL ?? '' });
  page = await context.newPage();
  page.on('pageerror', (error) => consoleErrors.push(`${page.url()}: ${error.message}`));
  page.on('console', (message) => {
    if (message.type() === 'error') consoleErrors.push(`${page.url()}: ${message.text()}`);
  });
});
test.afterEach(() => {
  expect(consoleErrors.splice(0)).toEqual([]);
});
test.afterAll(() => page.context().close());

/** Sends requests to the sample app, so that its charts have data. */
function visitSample(): Traffic {
  const { FAIRLEAD_E2E_HTTPS_PORT: port, FAIRLEAD_E2E_CA: caFile } = process.env;
  if (port === undefined || caFile === undefined) throw new Error('global-setup.ts did not run');
  return startTraffic({ host: 'hello.localhost', port: Number(port), caFile, path: '/', connections: 2 });
}

const heading = (name: string | RegExp) => page.getByRole('heading', { level: 1, name });

async function openApp(): Promise<void> {
  await page.goto(`${ORGANIZATION}/apps/hello`);
  await expect(heading('hello')).toBeVisible();
}

/** Presses Deploy and waits for the page of the new deployment; returns its number. */
async function deploy(): Promise<number> {
  await openApp();
  await page.getByRole('button', { name: 'Deploy', exact: true }).click();
  await expect(page).toHaveURL(/\/deployments\/dep_/);
  await expect(heading(/^Deployment #\d+/)).toBeVisible();
  return Number(/#(\d+)/.exec((await heading(/^Deployment #/).textContent()) ?? '')?.[1]);
}

const pill = () => page.getByRole('banner').or(page.locator('header')).first();

test('only the holder of the token can create the first account', async () => {
  await page.goto('/');
  await expect(page).toHaveURL(/\/setup/);
  // Wait for hydration: before it, Next would replace a new URL with its own.
  await expect(page.getByLabel('Setup token')).toBeVisible();
  await page.goto(`/setup#token=${process.env.FAIRLEAD_E2E_TOKEN}`);
  await page.getByLabel('Your name').fill(ADA.name);
  await page.getByLabel('Email').fill(ADA.email);
  await page.getByLabel('Password').fill(ADA.password);
  await page.getByRole('button', { name: 'Create account' }).click();
  await expect(heading("You're all set")).toBeVisible();
  await expect(page.getByText('Server local is connected')).toBeVisible();
  await expect(page.getByText('hello is live')).toBeVisible();
  // A reader of the browser history must not see the token.
  expect(new URL(page.url()).hash).toBe('');
  await page.getByRole('link', { name: 'Open the dashboard' }).click();
  await expect(heading('Overview')).toBeVisible();
});

test('the sample app is live on the overview', async () => {
  await page.goto(ORGANIZATION);
  const row = page.getByRole('row').filter({ hasText: 'hello' }).first();
  await expect(row).toContainText('Live');
  await expect(page.getByText('local', { exact: true }).first()).toBeVisible();
});

test('sign out and in again', async () => {
  await page.getByRole('button', { name: `Account of ${ADA.name}` }).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await expect(page).toHaveURL(/\/sign-in/);
  await page.getByLabel('Email').fill(ADA.email);
  await page.getByLabel('Password').fill('not the password');
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await expect(page.getByText('Email or password is wrong.')).toBeVisible();
  // The refused sign-in is the only expected error.
  expect(consoleErrors.splice(0).every((complaint) => complaint.includes('401'))).toBe(true);
  await page.getByLabel('Password').fill(ADA.password);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await expect(heading('Overview')).toBeVisible();
});

test('a deployment is followed live: steps, log lines, the address at the end', async () => {
  const number = await deploy();
  expect(number).toBeGreaterThan(1);
  const log = page.getByRole('region', { name: 'Log', exact: true });
  await expect(log).toContainText(/clon/i, DEPLOYED);
  await expect(pill()).toContainText('Live', DEPLOYED);
  await expect(page.getByRole('link', { name: /hello\.localhost/ }).first()).toBeVisible();
});

test('figures and charts of the app update with its visitors', async () => {
  await openApp();
  const rate = page.getByLabel('Now').locator('div').filter({ hasText: 'Requests/s' }).locator('dd');
  const visitors = visitSample();
  try {
    // A space groups the thousands.
    await expect
      .poll(async () => Number.parseFloat((await rate.textContent())?.replaceAll(/[^\d.]/g, '') ?? '0'))
      .toBeGreaterThan(5);
    const line = page.locator('.recharts-area-curve, .recharts-line-curve').first();
    await expect(line).toBeAttached();
    const before = await line.getAttribute('d');
    await expect.poll(() => line.getAttribute('d')).not.toBe(before);
  } finally {
    const { failures } = await visitors.stop();
    expect(failures).toEqual([]);
  }
});

test('a benchmark is started, followed and charted', async () => {
  await page.goto(`${ORGANIZATION}/benchmarks?start=hello`);
  const dialog = page.getByRole('dialog', { name: 'Start benchmark' });
  await expect(dialog.getByText('Visitors of the app feel the load')).toBeVisible();
  await dialog.getByLabel('Concurrency').fill('1, 8');
  await dialog.getByLabel('Seconds per row').selectOption('1');
  await dialog.getByLabel('HTTP/2').uncheck();
  await dialog.getByRole('button', { name: 'Start', exact: true }).click();
  await expect(page).toHaveURL(/\/benchmarks\/run_/);
  await expect(pill()).toContainText('Succeeded', DEPLOYED);
  // On a busy machine, the rounds differ too much for a result.
  const result = /^The proxy adds .+ at p50 \(HTTP\/1\.1, concurrency 1\)\.$|^Not reproducible: /;
  await expect(page.getByText(result).first()).toBeVisible();
  await expect(page.getByRole('img', { name: /^Throughput, HTTP\/1\.1/ })).toBeVisible();
  await expect(page.getByRole('img', { name: /^p99 latency, HTTP\/1\.1/ })).toBeVisible();
  // Two concurrency levels of two targets, a line each.
  const results = page.getByRole('region', { name: 'Results' });
  const lines = results.getByRole('row').filter({ hasText: 'HTTP/1.1' });
  await expect(lines).toHaveCount(4);
  // Three rounds have an interval.
  await expect(lines.first()).toContainText(/95 % interval [\d,]+–[\d,]+/);
  await expect(page.getByText(/^#\d+ \([0-9a-f]{7}\)$/)).toBeVisible();
});

test('two benchmarks of an app are compared', async () => {
  const firstUrl = page.url();
  const dashboard = await signIn(process.env.FAIRLEAD_E2E_URL ?? '', ADA);
  const { id: appId } = await dashboard.query<{ id: string }>('app.get', ORGANIZATION.slice(1), { slug: 'hello' });
  const plan = { protocols: ['http1'], concurrency: [1], repeats: 1, durationMs: 500 };
  const { runId } = await dashboard.call<{ runId: string }>('benchmark.create', { appId, plan }, ORGANIZATION.slice(1));
  await page.goto(`${ORGANIZATION}/benchmarks/${runId}`);
  await expect(pill()).toContainText('Succeeded', DEPLOYED);
  const others = page.getByLabel('Compare with');
  await others.selectOption({ index: 1 });
  const comparison = page.getByRole('region', { name: 'Comparison' });
  // Concurrency 1 is in both runs, 8 is not.
  await expect(comparison.getByRole('row')).toHaveCount(3);
  await expect(comparison.getByRole('row').nth(1)).toContainText('too few rounds');
  await expect(page).toHaveURL(new RegExp(`baseline=${firstUrl.split('/').at(-1)}$`));
});

test('a rollback restores the first release', async () => {
  await page.goto(`${ORGANIZATION}/apps/hello/deployments`);
  await page.getByRole('link', { name: '#1', exact: true }).click();
  await expect(heading('Deployment #1')).toBeVisible();
  await page.getByRole('button', { name: 'Roll back to this' }).click();
  await expect(heading('Deployment #3')).toBeVisible();
  await expect(pill()).toContainText('Live', DEPLOYED);
});
