// Browser test of a public report: from a run to its page, which has what the rows have, and to its end. Runs after
// product.spec.ts, which makes the account and the app.
import { type Browser, expect, type Page, test } from '@playwright/test';
import { ADA, signIn } from '../../tools/lib/dashboard-client.ts';
import { checkAppearance, findFaults } from './accessibility.ts';
import { openSignedIn } from './signed-in.ts';

test.describe.configure({ mode: 'serial' });

const ORGANIZATION = 'my-organization';
const LEVELS = [1, 4];
const PLAN = { protocols: ['http1'], concurrency: LEVELS, repeats: 3, durationMs: 500, warmupMs: 0 };
const MEASURED = { timeout: 60_000 };
/** Names and addresses of this control plane. */
const PRIVATE = /hello|localhost|127\.0\.0\.1|my-organization|ada example|ada@|run_|srv_|app_(?!…)|rel_/i;
/** Kind of a chart, its targets, and whether each target has a point for each level. */
const CHARTS = [
  ['throughput', 2, true],
  ['p99', 2, true],
  ['success', 2, true],
  ['cpu', 1, true],
  ['memory', 1, true],
  ['cdf', 2, false],
] as const;

let page: Page;
let url: string;

test.beforeAll(async ({ browser }) => {
  page = await openSignedIn(browser);
  const dashboard = await signIn(process.env.FAIRLEAD_E2E_URL ?? '', ADA);
  const { id: appId } = await dashboard.query<{ id: string }>('app.get', ORGANIZATION, { slug: 'hello' });
  const { runId } = await dashboard.call<{ runId: string }>('benchmark.create', { appId, plan: PLAN }, ORGANIZATION);
  await page.goto(`/${ORGANIZATION}/benchmarks/${runId}`);
  await expect(page.getByText('Succeeded').first()).toBeVisible(MEASURED);
});
test.afterAll(() => page.context().close());

/** Opens a page of somebody without an account. */
async function openStranger(browser: Browser, options = {}): Promise<Page> {
  const context = await browser.newContext({ baseURL: process.env.FAIRLEAD_E2E_URL ?? '', ...options });
  return context.newPage();
}

/** Names of the chunks of a PNG. */
function chunksOf(png: Buffer): string[] {
  const names: string[] = [];
  for (let at = 8; at < png.length; at += 12 + png.readUInt32BE(at)) names.push(png.toString('latin1', at + 4, at + 8));
  return names;
}

test('the dialog shows what becomes public, and the card has the link', async ({ browserName: _ }, info) => {
  await page.getByRole('button', { name: 'Publish report' }).click();
  const dialog = page.getByRole('dialog', { name: 'Publish report' });
  await expect(dialog.getByText('Benchmark of app.example')).toBeVisible();
  await expect(dialog.getByText('Fairlead, Direct')).toBeVisible();
  await checkAppearance(page);
  await page.screenshot({ path: info.outputPath('dialog.png') });
  await dialog.getByRole('button', { name: 'Publish report' }).click();
  const link = page.getByRole('link', { name: /\/reports\/rpt_/ });
  await expect(link).toBeVisible();
  await expect(page.getByRole('button', { name: 'Copy link' })).toBeVisible();
  url = (await link.getAttribute('href')) ?? '';
  await link.scrollIntoViewIfNeeded();
  await page.screenshot({ path: info.outputPath('card.png') });
});

test('a stranger sees charts and a table of all rows, without a script', async ({ browser }) => {
  const stranger = await openStranger(browser, { javaScriptEnabled: false });
  const response = await stranger.goto(url);
  expect(response?.status()).toBe(200);
  expect(response?.headers()).toMatchObject({ 'cache-control': 'no-cache', 'x-robots-tag': 'noindex' });
  expect(response?.headers()['content-security-policy']).toMatch(/^default-src 'none'; style-src 'sha256-/);
  await expect(stranger.getByRole('heading', { name: 'Benchmark of app.example' })).toBeVisible();
  await expect(stranger.locator('script')).toHaveCount(0);
  // The style sheet is let through by its hash.
  await expect(stranger.locator('main')).toHaveCSS('max-width', '1320px');
  const rows = await stranger.request.get(`${url}/rows.json`);
  const document = await rows.json();
  expect(document.rows).toHaveLength(2 * LEVELS.length * PLAN.repeats);
  for (const [kind, targets, hasPoints] of CHARTS) {
    const chart = stranger.locator(`svg[data-chart="${kind}"]`);
    await expect(chart).toHaveAccessibleName(/.+/);
    await expect(chart.locator('[data-series]'), kind).toHaveCount(targets);
    await expect(chart.locator('.point'), kind).toHaveCount(hasPoints ? targets * LEVELS.length : 0);
    for (const path of await chart.locator('.line').all()) await expect(path).toHaveAttribute('d', /^M[\d.,MLHVZ-]+$/);
  }
  await expect(stranger.locator('svg[data-chart]')).toHaveCount(CHARTS.length);
  await expect(stranger.locator('tbody tr')).toHaveCount(2 * LEVELS.length);
  const image = await stranger.request.get(`${url}/image.png`);
  expect([image.status(), image.headers()['content-type']]).toEqual([200, 'image/png']);
  for (const text of [await stranger.content(), JSON.stringify(document)]) {
    expect(text.replaceAll(new URL(url).origin, '')).not.toMatch(PRIVATE);
  }
  // Chunks of pixels only: no text and no metadata.
  expect(chunksOf(await image.body()).filter((name) => /^(?:tEXt|iTXt|zTXt|eXIf)$/.test(name))).toEqual([]);
  await stranger.context().close();
});

for (const width of [1440, 390]) {
  for (const colorScheme of ['light', 'dark'] as const) {
    test(`the page fits ${width} pixels, ${colorScheme}`, async ({ browser }, info) => {
      const stranger = await openStranger(browser, { viewport: { width, height: 900 }, colorScheme, bypassCSP: true });
      await stranger.goto(url);
      expect(await stranger.evaluate(() => document.documentElement.scrollWidth)).toBe(width);
      const [red = 0] = (await stranger.locator('body').evaluate((body) => getComputedStyle(body).backgroundColor))
        .match(/\d+/g)
        ?.map(Number) ?? [0];
      expect(red > 128).toBe(colorScheme === 'light');
      expect(await findFaults(stranger, colorScheme)).toEqual([]);
      await stranger.screenshot({ path: info.outputPath(`${width}-${colorScheme}.png`), fullPage: true });
      await stranger.context().close();
    });
  }
}

test('an unpublished report is gone, with its rows and image', async ({ browser }) => {
  const stranger = await openStranger(browser);
  expect((await stranger.request.get(url)).status()).toBe(200);
  await page.getByRole('button', { name: 'Unpublish' }).click();
  await expect(page.getByText('The link no longer works.')).toBeVisible();
  await expect(page.getByRole('button', { name: 'Publish report' })).toBeVisible();
  for (const part of ['', '/rows.json', '/image.png']) {
    expect([part, (await stranger.request.get(`${url}${part}`)).status()]).toEqual([part, 404]);
  }
  await stranger.context().close();
});
