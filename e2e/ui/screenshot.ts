// `npm run screenshot`: takes the README's pictures of a running product with demo history and real visitors, and records
// which sources they show, for the check in tools/verify/pictures.ts.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Browser, chromium, type Page } from '@playwright/test';
import { ROOT, run } from '../../tools/lib/command.ts';
import { ADA, claimSetup } from '../../tools/lib/dashboard-client.ts';
import { PICTURES, recordPictures } from '../../tools/lib/pictures.ts';
import { startProduct } from '../../tools/lib/running-product.ts';
import { startTraffic } from '../../tools/lib/traffic.ts';
import { CHROMIUM } from '../../tools/test/debian.ts';

const IMAGES = join(ROOT, PICTURES);
const FRAME = ['apps/web/src/shell/**', 'packages/ui/src/**'];
/** Sources of each page in a picture. */
const PAGES = {
  overview: ['apps/web/src/features/overview/**', 'apps/web/src/common/{app,deployment,server}/**', ...FRAME],
  app: [
    'apps/web/src/features/app/app-{charts,frame,live-page}.tsx',
    'apps/web/src/features/app/{figures,instances,routes,traffic-card}.tsx',
    'apps/web/src/common/{chart,figure}/**',
    ...FRAME,
  ],
};
const WIDTH = 1440;
/** Enough visits for a visible line in the live charts. */
const VISITS = 10_000;

/** Space below the last section of a picture; less than the gap between two sections. */
const MARGIN = 20;

mkdirSync(IMAGES, { recursive: true });
const agent = process.env.FAIRLEAD_E2E_AGENT;
const product = await startProduct({
  ...(agent === undefined ? {} : { agent }),
  onOutput: (text) => process.stdout.write(text),
});
try {
  if (product.setupToken === undefined) throw new Error('the product has an owner already');
  const slug = await claimSetup(product.url, product.setupToken, ADA);
  const { ports, caFile } = product;
  const visitors = startTraffic({ host: 'hello.localhost', port: ports.https, caFile, path: '/', connections: 3 });
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM_PATH ?? CHROMIUM.file,
    args: ['--no-sandbox'],
  });
  try {
    await visitors.more(VISITS, 120_000);
    // Signs in before the demo is loaded, because its apps have current requests for three minutes only.
    const light = await signIn(browser, 'light');
    const dark = await signIn(browser, 'dark');
    const seeded = await run('node', [join(ROOT, 'prisma/seed/main.ts'), 'demo', '--data', product.data]);
    if (seeded.code !== 0) throw new Error(seeded.output);
    for (const [page, suffix] of [
      [light, ''],
      [dark, '-dark'],
    ] as const) {
      await page.goto(`/${slug}`);
      await page.getByRole('row').filter({ hasText: 'Storefront' }).first().waitFor();
      await take(page, `overview${suffix}.png`, 'Servers');
      await page.goto(`/${slug}/apps/storefront?range=24h`);
      await page.locator('.recharts-area-curve').first().waitFor();
      await take(page, `app${suffix}.png`, 'Traffic and resources');
    }
  } finally {
    await browser.close();
    await visitors.stop();
  }
} finally {
  await product.stop();
}
recordPictures(
  ROOT,
  new Map(
    Object.entries(PAGES).flatMap(([name, sources]) =>
      [`${name}.png`, `${name}-dark.png`].map((file) => [file, sources]),
    ),
  ),
);

async function signIn(browser: Browser, theme: 'light' | 'dark'): Promise<Page> {
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
  return page;
}

/** Saves a picture that ends below the section with this heading, so that it cuts nothing. */
async function take(page: Page, name: string, lastSection: string): Promise<void> {
  const section = page
    .locator('section')
    .filter({ has: page.getByRole('heading', { name: lastSection, exact: true }) });
  const box = await section.last().boundingBox();
  if (box === null) throw new Error(`${name}: there is no section ${lastSection}`);
  await page.setViewportSize({ width: WIDTH, height: Math.ceil(box.y + box.height) + MARGIN });
  await page.screenshot({ path: join(IMAGES, name) });
}
