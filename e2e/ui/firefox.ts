// Browser tests in the Firefox of Debian over WebDriver BiDi: sign-in, first deployment with its live log, charts, and
// saved settings. Playwright drives only its own build of Firefox.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { launch, type Page } from 'puppeteer-core';
import { ADA } from '../../tools/lib/dashboard-client.ts';
import { freePort } from '../../tools/lib/free-ports.ts';
import type { RunningProduct } from '../../tools/lib/running-product.ts';
import { startTraffic } from '../../tools/lib/traffic.ts';
import { waitFor } from '../../tools/lib/wait.ts';
import { FIREFOX } from '../../tools/test/debian.ts';
import { add, failure, NOTHING, type Outcome } from '../../tools/test/outcome.ts';
import type { Say } from '../../tools/test/screen.ts';
import { serveRepositories } from '../system/harness/repository.ts';
import { WIDE } from './accessibility.ts';

const SHOWN_MS = 15_000;
const DEPLOYED_MS = 60_000;
const VISITS_PER_SECOND_MIN = 5;

interface Flow {
  readonly name: string;
  readonly run: (product: RunningProduct, page: Page) => Promise<void>;
}

/** In this order: the first one signs in. */
const FLOWS: readonly Flow[] = [
  { name: 'a wrong password is refused, the right one signs in', run: signIn },
  { name: 'a new app is deployed, and its log is live', run: deployFirst },
  { name: 'figures and charts follow the visitors of an app', run: watchCharts },
  { name: 'a changed setting is saved', run: saveSetting },
];

/** Runs every flow on a product that Ada has set up. */
export async function runFirefox(product: RunningProduct, say: Say): Promise<Outcome> {
  const browser = await launch({
    browser: 'firefox',
    executablePath: process.env.FIREFOX_PATH ?? FIREFOX.file,
    defaultViewport: WIDE,
  });
  try {
    const page = await browser.newPage();
    page.setDefaultTimeout(SHOWN_MS);
    const errors: string[] = [];
    page.on('pageerror', (error) => errors.push(String(error)));
    let total = NOTHING;
    for (const flow of FLOWS) {
      const outcome = await runFlow(flow, async () => {
        await flow.run(product, page);
        assert.deepEqual(errors.splice(0), []);
      });
      say(`  ${outcome.failed === 0 ? 'ok  ' : 'FAIL'}  firefox: ${flow.name}\n`);
      total = add(total, outcome);
    }
    return total;
  } finally {
    await browser.close();
  }
}

async function runFlow({ name }: Flow, run: () => Promise<void>): Promise<Outcome> {
  try {
    await run();
    return { passed: 1, failed: 0 };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { passed: 0, failed: 1, failures: [failure(`firefox: ${name}`, reason)] };
  }
}

async function signIn({ url }: RunningProduct, page: Page): Promise<void> {
  await page.goto(`${url}/sign-in`);
  await fill(page, 'Email', ADA.email);
  await fill(page, 'Password', 'not the password');
  await press(page, 'Sign in');
  await see(page, 'body', 'Email or password is wrong.');
  await fill(page, 'Password', ADA.password);
  await press(page, 'Sign in');
  await see(page, 'h1', 'Overview');
  assert.equal(new URL(page.url()).pathname, '/my-organization');
}

async function deployFirst({ url }: RunningProduct, page: Page): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-firefox-'));
  const repositories = await serveRepositories(folder, await freePort());
  try {
    const repository = await repositories.createExample('firefox', 'hello-node');
    await page.goto(`${url}/my-organization/apps/new`);
    await fill(page, 'Git repository', repository.url);
    await page.keyboard.press('Tab');
    await see(page, PLAN, 'Node');
    await fill(page, 'Name', 'Firefox');
    const clones = Promise.withResolvers<void>();
    // The page is open before the log has lines.
    repositories.holdClones(() => clones.promise);
    try {
      await press(page, 'Deploy');
      await see(page, 'h1', 'Deployment #1');
      await see(page, 'header', 'Building', DEPLOYED_MS);
      assert.doesNotMatch(await textOf(page, LOG), /Fetching/);
    } finally {
      repositories.holdClones(undefined);
      clones.resolve();
    }
    await see(page, LOG, 'Fetching', DEPLOYED_MS);
    await see(page, 'header', 'Live', DEPLOYED_MS);
  } finally {
    await repositories.close();
    rmSync(folder, { recursive: true });
  }
}

async function watchCharts({ url, ports, caFile }: RunningProduct, page: Page): Promise<void> {
  await page.goto(`${url}/my-organization/apps/hello`);
  await see(page, 'h1', 'hello');
  const visitors = startTraffic({ host: 'hello.localhost', port: ports.https, caFile, path: '/', connections: 2 });
  try {
    await waitFor(async () => (await readRate(page)) > VISITS_PER_SECOND_MIN, {
      what: 'a rate of requests on the page',
      timeoutMs: SHOWN_MS,
    });
    await page.locator(CURVE).wait();
    const readLine = () => page.$eval(CURVE, (path) => path.getAttribute('d'));
    const before = await readLine();
    await waitFor(async () => (await readLine()) !== before, { what: 'a new point of the chart', timeoutMs: SHOWN_MS });
  } finally {
    const { failures } = await visitors.stop();
    assert.deepEqual(failures, []);
  }
}

async function saveSetting({ url }: RunningProduct, page: Page): Promise<void> {
  const settings = `${url}/my-organization/apps/hello/settings/health`;
  await page.goto(settings);
  await fill(page, 'Start timeout', '90');
  await see(page, 'main', '1 setting changed');
  await press(page, 'Save');
  await see(page, 'main', 'Saved as version');
  await page.goto(settings);
  const field = await page.locator(labelled('Start timeout')).waitHandle();
  assert.equal(await field.evaluate((input) => (input as HTMLInputElement).value), '90');
}

const CURVE = '.recharts-area-curve, .recharts-line-curve';
const PLAN = 'section[aria-labelledby="plan-title"]';
const LOG = 'section[aria-label="Log"]';
/** Field of a form, by the text of its label. */
const labelled = (label: string) => `::-p-xpath(//input[@id = //label[normalize-space() = "${label}"]/@for])`;

async function fill(page: Page, label: string, value: string): Promise<void> {
  await page.locator(labelled(label)).fill(value);
}

async function press(page: Page, button: string): Promise<void> {
  const found = await page.waitForSelector(`::-p-xpath(//button[normalize-space() = "${button}" and not(@disabled)])`);
  await found?.click();
}

/** Waits until the first element of `selector` contains the text, in any case. */
async function see(page: Page, selector: string, text: string, timeoutMs = SHOWN_MS): Promise<void> {
  await waitFor(async () => (await textOf(page, selector)).toLowerCase().includes(text.toLowerCase()), {
    what: `“${text}” in ${selector}`,
    timeoutMs,
  });
}

async function textOf(page: Page, selector: string): Promise<string> {
  const element = await page.$(selector);
  return (await element?.evaluate(({ textContent }) => textContent)) ?? '';
}

/** Returns the requests a second that the app's page shows; a space groups the thousands. */
async function readRate(page: Page): Promise<number> {
  const text = await textOf(page, '::-p-xpath(//*[@aria-label = "Now"]//dt[. = "Requests/s"]/following-sibling::dd)');
  return Number.parseFloat(text.replaceAll(/[^\d.]/g, '') || '0');
}
