// Browser tests of figures and charts: after some traffic each number on the app's page, the server's page and the
// overview is the API's, and the charts' period can be chosen. Runs after product.spec.ts.
import { numberFormats } from '@fairlead/ui/lib/format';
import { expect, type Page, test } from '@playwright/test';
import { ADA, type Dashboard, signIn } from '../../tools/lib/dashboard-client.ts';
import { startTraffic } from '../../tools/lib/traffic.ts';
import { checkAppearance } from './accessibility.ts';
import { openSignedIn } from './signed-in.ts';

test.describe.configure({ mode: 'serial' });

const { formatBytes, formatCount, formatMs, formatPercent, plural } = numberFormats('en-US');

const ORGANIZATION = 'my-organization';
const APP = `/${ORGANIZATION}/apps/hello`;
/** Longer than the window of current figures. */
const QUIET = { timeout: 40_000 };

interface AppView {
  readonly id: string;
  readonly requestsPerSecond: number;
  readonly errorsPerSecond: number;
  readonly p99Ms: number | null;
}

interface Latency {
  readonly p50Ms: number | null;
  readonly p95Ms: number | null;
  readonly p99Ms: number | null;
}

interface Metric {
  readonly points: readonly Latency[];
  readonly totals: Latency & { readonly requests: number; readonly errors: number; readonly clientErrors: number };
}

interface OverviewView {
  readonly apps: readonly {
    readonly slug: string;
    readonly errorShare: number | null;
    readonly p95Ms: number | null;
  }[];
}

interface ServerView {
  readonly id: string;
  readonly name: string;
  readonly host: { readonly cpuCount: number };
  readonly memoryTotalBytes: number;
  readonly diskUsedBytes: number;
  readonly diskTotalBytes: number;
}

let page: Page;
let api: Dashboard;
const consoleErrors: string[] = [];

test.beforeAll(async ({ browser }) => {
  api = await signIn(process.env.FAIRLEAD_E2E_URL ?? '', ADA);
  // A fading figure has too little contrast for axe.
  page = await openSignedIn(browser, { reducedMotion: 'reduce' });
  page.on('pageerror', (error) => consoleErrors.push(error.message));
});
test.afterEach(() => expect(consoleErrors.splice(0)).toEqual([]));
test.afterAll(() => page.context().close());

const query = <T>(procedure: string, input: unknown) => api.query<T>(procedure, ORGANIZATION, input);
const readApp = () => query<AppView>('app.get', { slug: 'hello' });
const readServer = async () => {
  const [local] = (await query<{ items: readonly ServerView[] }>('server.list', {})).items;
  if (local === undefined) throw new Error('there is no server');
  return local;
};

/** Sends at least one request to a path of the sample app, and fifty to one that exists. */
async function visit(path: string): Promise<void> {
  const { FAIRLEAD_E2E_HTTPS_PORT: port, FAIRLEAD_E2E_CA: caFile } = process.env;
  if (port === undefined || caFile === undefined) throw new Error('global-setup.ts did not run');
  const traffic = startTraffic({ host: 'hello.localhost', port: Number(port), caFile, path, connections: 1 });
  if (path === '/') await traffic.more(50);
  await traffic.stop();
}

/** The value of a current figure. */
function figure(label: string | RegExp) {
  const term = page.getByLabel('Now').locator('dt').filter({ hasText: label });
  return term.locator('xpath=following-sibling::dd');
}

test('once it is quiet, every figure of the app is the API’s', async () => {
  const app = await readApp();
  const period = { appId: app.id, range: '1h' };
  const readTotals = async () => (await query<Metric>('metric.app', period)).totals;
  const before = await readTotals();
  await visit('/');
  await visit('/missing');
  await expect.poll(async () => (await readTotals()).clientErrors, QUIET).toBeGreaterThan(before.clientErrors);
  await expect.poll(async () => (await readApp()).requestsPerSecond, QUIET).toBe(0);
  const totals = await readTotals();

  await page.goto(`${APP}?range=1h`);
  // Zero is neutral, and says zero.
  await expect(figure('Requests/s')).toHaveText('0');
  await expect(figure('Errors/s')).toHaveText('0');
  await expect(figure('Errors/s')).not.toHaveClass(/text-bad/);
  const { points } = await query<Metric>('metric.app', { appId: app.id, range: '15m' });
  const latest = points.findLast(({ p50Ms }) => p50Ms !== null);
  await expect(figure(/^p50$/)).toContainText(formatMs(latest?.p50Ms));
  await expect(figure(/^p95$/)).toContainText(formatMs(latest?.p95Ms));
  await expect(figure(/^p99$/)).toContainText(formatMs(latest?.p99Ms));
  const { host } = await readServer();
  await expect(figure(`CPU of ${plural(host.cpuCount, 'core')}`)).toHaveText(/^<?\d+(\.\d+)? %$/);
  await expect(figure('Memory')).toHaveText(/^\d+(\.\d+)? MiB$/);

  const shown = [
    plural(totals.requests, 'request'),
    plural(totals.clientErrors, 'client error'),
    plural(totals.errors, 'server error'),
    `p99 ${formatMs(totals.p99Ms)}`,
  ];
  await expect(page.getByText(shown.join(', '))).toBeVisible();

  // The table of routes adds up to the totals.
  const { routes } = await query<{ routes: readonly (Metric['totals'] & { host: string })[] }>('metric.routes', period);
  expect(routes.reduce((sum, { requests }) => sum + requests, 0)).toBe(totals.requests);
  const [route] = routes;
  const cells = [route?.requests, route?.clientErrors, route?.errors].map((count) => formatCount(count ?? 0));
  const row = page
    .getByRole('row')
    .filter({ hasText: route?.host ?? '' })
    .filter({ hasText: 'hello.localhost' });
  await expect(row.getByRole('cell')).toHaveText([
    /hello\.localhost/,
    ...cells,
    formatMs(route?.p50Ms),
    formatMs(route?.p99Ms),
  ]);
});

test('the overview shows the figures of the app and of its server from the API', async () => {
  await page.goto(`/${ORGANIZATION}`);
  const row = page.getByRole('row').filter({ has: page.locator('a[href$="/apps/hello"]') });
  // The last half hour moves on meanwhile.
  await expect(async () => {
    await page.reload();
    const { apps } = await query<OverviewView>('overview.get', {});
    const { errorShare, p95Ms } = apps.find(({ slug }) => slug === 'hello') ?? { errorShare: null, p95Ms: null };
    await expect(row.getByRole('cell').nth(-2)).toHaveText(formatPercent(errorShare ?? Number.NaN), { timeout: 2000 });
    await expect(row.getByRole('cell').last()).toHaveText(formatMs(p95Ms), { timeout: 2000 });
    expect(p95Ms).not.toBeNull();
  }).toPass(QUIET);
  const { name } = await readServer();
  const card = page.getByRole('article').filter({ hasText: name }).first();
  // The disk changes while builds run: the page follows the API.
  await expect(async () => {
    const { diskUsedBytes, diskTotalBytes } = await readServer();
    await expect(card).toContainText(`Disk${Math.round((diskUsedBytes / diskTotalBytes) * 100)} %`, { timeout: 1000 });
  }).toPass(QUIET);
});

test('disk, memory and cores of a server agree on its page', async () => {
  const { id, host } = await readServer();
  await page.goto(`/${ORGANIZATION}/servers/${id}`);
  await expect(page.getByText(plural(host.cpuCount, 'core'), { exact: true })).toBeVisible();
  await expect(async () => {
    const { diskUsedBytes: used, diskTotalBytes: total } = await readServer();
    const text = `${formatBytes(used)} used, ${formatBytes(total - used)} free of ${formatBytes(total)}`;
    await expect(page.getByText(text)).toBeVisible({ timeout: 1000 });
    const chart = page.getByRole('figure').filter({ hasText: 'Disk' });
    await expect(chart.locator('figcaption')).toContainText(formatBytes(used), { timeout: 1000 });
  }).toPass(QUIET);
});

test('a range, a zoom, a custom period and a comparison show at once and can be linked', async () => {
  await page.goto(`${APP}?range=1h`);
  const requests = page.getByRole('img', { name: /^Requests\/s\. / });
  await expect(requests).toBeVisible();
  await expect(page.getByText(/^Times in /)).toBeVisible();
  await checkAppearance(page);

  const day = page.getByRole('button', { name: '24 h', exact: true });
  await day.click();
  await expect(day).toHaveAttribute('aria-pressed', 'true');
  await expect(page).toHaveURL(/range=24h/);
  await page.getByRole('button', { name: '1 h', exact: true }).click();

  // A fixed period of traffic: the last minutes by keyboard, then a part of them by pointer.
  await requests.focus();
  await page.keyboard.press('+');
  await expect(page).toHaveURL(/from=.+&to=.+/);
  const before = page.url();
  await expect(requests).toBeVisible();
  const box = await requests.boundingBox();
  if (box === null) throw new Error('the chart has no box');
  const middle = box.y + box.height / 2;
  await page.mouse.move(box.x + box.width * 0.5, middle);
  await expect(requests.locator('xpath=..').getByText('2xx, 3xx')).toBeVisible();
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.98, middle, { steps: 4 });
  await page.mouse.up();
  await expect(page).not.toHaveURL(before);
  await page.reload();
  await expect(page.getByRole('button', { name: 'Reset' })).toBeVisible();

  await page.getByRole('button', { name: 'Custom' }).click();
  const form = page.getByRole('form', { name: 'Custom period' });
  await form.getByLabel('From').fill('2026-01-01T10:00');
  await form.getByLabel('To').fill('2026-01-01T09:00');
  await expect(form.getByText('The end must be after the start.')).toBeVisible();
  await expect(form.getByRole('button', { name: 'Apply' })).toBeDisabled();
  await form.getByLabel('To').fill('2026-01-01T11:00');
  await form.getByRole('button', { name: 'Apply' }).click();
  // One message instead of five empty grids.
  await expect(page.getByRole('heading', { name: 'No data in this period' })).toBeVisible();
  await expect(page.getByRole('img', { name: /no samples/ })).toHaveCount(0);
  await checkAppearance(page);

  await page.getByRole('button', { name: 'Reset' }).click();
  await expect(page).toHaveURL(new RegExp(`${APP}$`));
  await expect(requests).toBeVisible();
  const compare = page.getByLabel('Compare with previous period');
  await compare.click();
  await expect(compare).toBeChecked();
  await expect(page).toHaveURL(/compare=1/);
  await expect(page.locator('path[stroke-dasharray="4 3"]').first()).toBeAttached();
});
