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
  '/apps/hello/releases',
  '/apps/hello/logs',
  '/apps/hello/config',
  '/apps/hello/domains',
  '/apps/hello/secrets',
  '/apps/hello/settings',
  '/deployments',
  '/servers',
  '/servers?add=1',
  '/benchmarks',
  '/benchmarks?start=1',
  '/domains',
  '/members',
  '/members/roles',
  '/settings',
  '/settings/environments',
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
  '/forgot-password',
  '/reset-password#token=x',
  '/restore-account#token=x',
  '/verify-email#token=x',
]) {
  test(`the page ${path}`, () => scan(path));
}

for (const path of PAGES) test(`the page ${path || '/'} of an organization`, () => scan(`${ORGANIZATION}${path}`));

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
