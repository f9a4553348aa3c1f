// `npm run screenshot`: takes the README's pictures of a running product with demo history and real visitors.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Browser, chromium } from '@playwright/test';
import { ROOT, run } from '../../tools/lib/command.ts';
import { ADA, claimSetup } from '../../tools/lib/dashboard-client.ts';
import { startProduct } from '../../tools/lib/running-product.ts';
import { startTraffic } from '../../tools/lib/traffic.ts';

const IMAGES = join(ROOT, 'docs/images');
const WIDTH = 1440;
/** Enough visits for a visible line in the live charts. */
const VISITS = 30_000;

mkdirSync(IMAGES, { recursive: true });
const agent = process.env.FAIRLEAD_E2E_AGENT;
const product = await startProduct({
  ...(agent === undefined ? {} : { agent }),
  onOutput: (text) => process.stdout.write(text),
});
try {
  if (product.setupToken === undefined) throw new Error('the product has an owner already');
  const slug = await claimSetup(product.url, product.setupToken, ADA);
  const seeded = await run('node', [join(ROOT, 'prisma/seed/main.ts'), 'demo', '--data', product.data]);
  if (seeded.code !== 0) throw new Error(seeded.output);
  const { ports, caFile } = product;
  const visitors = startTraffic({ host: 'hello.localhost', port: ports.https, caFile, path: '/', connections: 3 });
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM_PATH ?? '/usr/bin/chromium',
    args: ['--no-sandbox'],
  });
  try {
    await visitors.more(VISITS, 120_000);
    for (const theme of ['light', 'dark'] as const) await take(browser, theme, slug);
  } finally {
    await browser.close();
    await visitors.stop();
  }
} finally {
  await product.stop();
}

async function take(browser: Browser, theme: 'light' | 'dark', slug: string): Promise<void> {
  const context = await browser.newContext({
    baseURL: product.url,
    colorScheme: theme,
    viewport: { width: WIDTH, height: 900 },
    deviceScaleFactor: 1,
    reducedMotion: 'reduce',
  });
  const page = await context.newPage();
  await page.goto('/sign-in');
  await page.getByLabel('Email').fill(ADA.email);
  await page.getByLabel('Password').fill(ADA.password);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  // Live figures have arrived when the sample app shows more than zero.
  await page.getByRole('row').filter({ hasText: 'hello' }).first().waitFor();
  const suffix = theme === 'light' ? '' : '-dark';
  await page.screenshot({ path: join(IMAGES, `overview${suffix}.png`) });
  await page.goto(`/${slug}/apps/hello`);
  await page.locator('.recharts-area-curve').first().waitFor();
  await page.screenshot({ path: join(IMAGES, `app${suffix}.png`) });
  await context.close();
}
