// Accessibility scan of every page with axe, in light and dark and at a phone's width. Runs after product.spec.ts,
// which creates the account, deployments and a benchmark.
import { expect, type Page, test } from '@playwright/test';
import { checkAppearance, WIDE } from './accessibility.ts';
import { openSignedIn } from './signed-in.ts';

const ORGANIZATION = '/my-organization';

const PAGES = [
  '',
  '/projects',
  '/apps',
  '/apps?view=deleted',
  '/apps/new',
  '/apps/hello',
  '/apps/hello/deployments',
  '/apps/hello/previews',
  '/apps/hello/logs',
  '/apps/hello/domains',
  '/apps/hello/variables',
  '/apps/hello/storage',
  '/apps/hello/settings/general',
  '/apps/hello/settings/source',
  '/apps/hello/settings/runtime',
  '/apps/hello/settings/scaling',
  '/apps/hello/settings/health',
  '/apps/hello/settings/traffic',
  '/apps/hello/settings/deploys',
  '/apps/hello/settings/servers',
  '/apps/hello/settings/access',
  '/apps/hello/settings/danger',
  '/deployments',
  '/deliveries',
  '/servers',
  '/servers?add=1',
  '/benchmarks',
  '/benchmarks?start=1',
  '/domains',
  '/certificates',
  '/members',
  '/members/roles',
  '/settings',
  '/settings/dns-providers',
  '/settings/environments',
  '/settings/git',
  '/settings/git/register',
  '/settings/organization',
  '/settings/secrets',
  '/settings/audit',
  '/settings/control-plane',
  '/settings/tokens',
];
/** Detail pages, opened by the first link of their list. */
const DETAILS = [
  { list: '/servers', href: /\/servers\/srv_/ },
  { list: '/benchmarks', href: /\/benchmarks\/run_/ },
  { list: '/deployments', href: /\/deployments\/dep_/ },
  { list: '/domains', href: /\/domains\/dom_/ },
];

let page: Page;

test.beforeAll(async ({ browser }) => {
  // A failed test gets a new browser, which must be signed in too.
  page = await openSignedIn(browser, { viewport: WIDE, reducedMotion: 'reduce' });
});
test.afterAll(() => page.context().close());

test('the sign-in page', async () => {
  const cookies = await page.context().cookies();
  await page.context().clearCookies();
  await scan('/sign-in');
  await page.context().addCookies(cookies);
});

test('the account page', () => scan('/account'));

// All calls of the reference render alike: a few are enough.
for (const path of [
  '/docs/api?search=volume',
  '/docs',
  '/docs/guide',
  '/docs/changelog',
  '/no-such-organization',
  '/forgot-password',
  '/reset-password#token=x',
  '/restore-account#token=x',
  '/verify-email#token=x',
]) {
  test(`the page ${path}`, () => scan(path));
}

for (const path of PAGES) test(`the page ${path || '/'} of an organization`, () => scan(`${ORGANIZATION}${path}`));

/** Content must not move while a page loads: Google's bound for a good page is 0.1. */
const SHIFT_MAX = 0.05;

test.describe('on a phone', () => {
  let phone: Page;

  test.beforeAll(async ({ browser }) => {
    phone = await openSignedIn(browser, { viewport: { width: 390, height: 844 }, reducedMotion: 'reduce' });
    await phone.addInitScript(() => {
      const shifts: { value: number; what: string }[] = [];
      Object.assign(window, { shifts });
      new PerformanceObserver((list) => {
        for (const entry of list.getEntries() as (PerformanceEntry & {
          value: number;
          hadRecentInput: boolean;
          sources: { node: Node | null }[];
        })[]) {
          if (entry.hadRecentInput) continue;
          const [source] = entry.sources;
          const what = source?.node instanceof Element ? source.node.outerHTML.slice(0, 160) : '';
          shifts.push({ value: entry.value, what });
        }
      }).observe({ type: 'layout-shift', buffered: true });
    });
  });
  test.afterAll(() => phone.context().close());

  for (const path of PAGES) {
    test(`nothing moves while ${path || '/'} loads`, async () => {
      await phone.goto(`${ORGANIZATION}${path}`);
      await expect(phone.getByRole('heading', { level: 1 })).toBeVisible();
      await expect(phone.locator('[data-connection]:not([data-connection="connecting"])')).toBeVisible();
      await expect(phone.getByRole('status', { name: 'Loading' })).toHaveCount(0);
      await expect(phone.locator('.animate-shimmer')).toHaveCount(0);
      const shifts = await phone.evaluate(
        () => (window as unknown as { shifts: { value: number; what: string }[] }).shifts,
      );
      const total = shifts.reduce((sum, { value }) => sum + value, 0);
      expect(total, JSON.stringify(shifts)).toBeLessThan(SHIFT_MAX);
    });
  }
});

for (const { list, href } of DETAILS) {
  test(`a page below ${list}`, async () => {
    await page.goto(`${ORGANIZATION}${list}`);
    const link = page.getByRole('main').getByRole('link').and(page.locator('[href]'));
    await expect(link.first()).toBeVisible();
    const hrefs = await link.evaluateAll((links) => links.map((each) => each.getAttribute('href') ?? ''));
    const found = hrefs.find((candidate) => href.test(candidate));
    if (found === undefined) throw new Error(`${list} links to nothing like ${href}`);
    await scan(found);
  });
}

async function scan(path: string): Promise<void> {
  await page.goto(path);
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
  await checkAppearance(page);
}
