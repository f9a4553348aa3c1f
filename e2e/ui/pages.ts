// Pages of the dashboard that are scanned: scan.spec.ts visits them in one small organization, `npm run check:ui` with
// each data set. Detail pages are found through their lists.
import type { Page } from '@playwright/test';

export interface DashboardPage {
  readonly path: string;
  /** True if only people without a session see it. */
  readonly isSignedOut?: true;
  /** Status of its document. Default: 200. */
  readonly status?: number;
}

/** Pages outside an organization. All calls of the API reference render alike: a few are enough. */
export const GENERAL_PAGES: readonly DashboardPage[] = [
  { path: '/sign-in', isSignedOut: true },
  { path: '/account' },
  { path: '/docs/api?search=volume' },
  { path: '/docs' },
  { path: '/docs/guide' },
  { path: '/docs/changelog' },
  { path: '/no-such-organization', status: 404 },
  { path: '/forgot-password' },
  { path: '/reset-password#token=x' },
  { path: '/restore-account#token=x' },
  { path: '/verify-email#token=x' },
];

/** Pages of an organization, below its address. */
export const ORGANIZATION_PAGES: readonly string[] = [
  '',
  '/projects',
  '/apps',
  '/apps?view=deleted',
  '/apps/new',
  '/deployments',
  '/deliveries',
  '/servers',
  '/servers?add=1',
  '/benchmarks',
  '/benchmarks?start=1',
  '/benchmarks/plans',
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
  '/settings/tokens',
];

/** Pages of an app, below its address. */
export const APP_PAGES: readonly string[] = [
  '',
  '/deployments',
  '/previews',
  '/logs',
  '/domains',
  '/variables',
  '/storage',
  '/settings/general',
  '/settings/source',
  '/settings/runtime',
  '/settings/scaling',
  '/settings/health',
  '/settings/traffic',
  '/settings/deploys',
  '/settings/servers',
  '/settings/access',
  '/settings/danger',
];

/** Pages of the organization that operates the installation; others are refused them. */
export const OPERATOR_PAGES: readonly string[] = ['/settings/control-plane'];

export interface DetailPage {
  readonly list: string;
  /** Selector of the links that lead from the list to such a page. */
  readonly link: string;
}

/** Detail pages, opened by the first link of their list. */
export const DETAIL_PAGES: readonly DetailPage[] = [
  { list: '/servers', link: 'a[href*="/servers/srv_"]' },
  { list: '/benchmarks', link: 'a[href*="/benchmarks/run_"]' },
  { list: '/deployments', link: 'a[href*="/deployments/dep_"]' },
  { list: '/domains', link: 'a[href*="/domains/dom_"]' },
];

/** Page of an app, whose address the pages of an app extend. */
export const FIRST_APP: DetailPage = { list: '/apps', link: 'tbody a[href*="/apps/"]:not([href*="?"])' };

/** Returns the address of the first page that the list of `organization`, an address such as /large, leads to. */
export async function findDetail(page: Page, organization: string, { list, link }: DetailPage): Promise<string> {
  await page.goto(`${organization}${list}`);
  return (await page.getByRole('main').locator(link).first().getAttribute('href')) ?? '';
}
