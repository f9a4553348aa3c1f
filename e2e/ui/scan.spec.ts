// Accessibility scan of every page with axe, in light and dark and at a phone's width. Runs after product.spec.ts,
// which creates the account, deployments and a benchmark.
import { expect, type Page, test } from '@playwright/test';
import { checkAppearance, PHONE, WIDE } from './accessibility.ts';
import { observeLoads, readLoad, totalShift, waitUntilLoaded } from './page-load.ts';
import { APP_PAGES, DETAIL_PAGES, findDetail, GENERAL_PAGES, OPERATOR_PAGES, ORGANIZATION_PAGES } from './pages.ts';
import { sampled } from './sample.ts';
import { openSignedIn, withoutSession } from './signed-in.ts';
import { SHIFT_MAX } from './sweep-report.ts';

const ORGANIZATION = '/my-organization';

const PAGES = sampled([...ORGANIZATION_PAGES, ...OPERATOR_PAGES, ...APP_PAGES.map((path) => `/apps/hello${path}`)]);

let page: Page;

test.beforeAll(async ({ browser }) => {
  // A failed test gets a new browser, which must be signed in too.
  page = await openSignedIn(browser, { viewport: WIDE, reducedMotion: 'reduce' });
});
test.afterAll(() => page.context().close());

for (const { path, isSignedOut } of sampled(GENERAL_PAGES)) {
  test(`the page ${path}`, () => (isSignedOut ? withoutSession(page.context(), () => scan(path)) : scan(path)));
}

for (const path of PAGES) test(`the page ${path || '/'} of an organization`, () => scan(`${ORGANIZATION}${path}`));

test.describe('on a phone', () => {
  let phone: Page;

  test.beforeAll(async ({ browser }) => {
    phone = await openSignedIn(browser, { viewport: PHONE, reducedMotion: 'reduce' });
    await observeLoads(phone.context());
  });
  test.afterAll(() => phone.context().close());

  for (const path of PAGES) {
    test(`nothing moves while ${path || '/'} loads`, async () => {
      await phone.goto(`${ORGANIZATION}${path}`);
      await waitUntilLoaded(phone);
      const load = await readLoad(phone);
      expect(totalShift(load), JSON.stringify(load.shifts)).toBeLessThan(SHIFT_MAX);
    });
  }
});

for (const detail of sampled(DETAIL_PAGES)) {
  test(`a page below ${detail.list}`, async () => scan(await findDetail(page, ORGANIZATION, detail)));
}

async function scan(path: string): Promise<void> {
  await page.goto(path);
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
  await checkAppearance(page);
}
