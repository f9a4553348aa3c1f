// Data sets of `npm run check:ui`, each in an organization that Ada owns.
import { join } from 'node:path';
import type { Page } from '@playwright/test';
import { largeSlug } from '../../prisma/seed/large.ts';
import { ROOT, run } from '../../tools/lib/command.ts';
import { ADA, type Dashboard } from '../../tools/lib/dashboard-client.ts';
import type { RunningProduct } from '../../tools/lib/running-product.ts';
import {
  APP_PAGES,
  type DashboardPage,
  DETAIL_PAGES,
  FIRST_APP,
  findDetail,
  GENERAL_PAGES,
  OPERATOR_PAGES,
  ORGANIZATION_PAGES,
} from './pages.ts';

export const DATA_SETS = ['empty', 'demo', 'large'] as const;
export type DataSet = (typeof DATA_SETS)[number];

export interface Home {
  readonly product: RunningProduct;
  readonly dashboard: Dashboard;
  /** Slug of the organization that the first start creates. */
  readonly first: string;
}

/** Loads the data set; returns the address of its organization, such as /large. */
export async function loadDataSet(data: DataSet, { product, dashboard, first }: Home): Promise<string> {
  if (data === 'empty') {
    const { slug } = await dashboard.call<{ slug: string }>('organization.create', { name: 'Empty' });
    return `/${slug}`;
  }
  const owner = data === 'large' ? ['--owner', ADA.email] : [];
  const seed = [join(ROOT, 'prisma/seed/main.ts'), data, '--data', product.data, ...owner];
  const seeded = await run('node', seed);
  if (seeded.code !== 0) throw new Error(seeded.output);
  return `/${data === 'large' ? largeSlug : first}`;
}

/** Returns the pages to visit. Pages outside an organization are the same with all data, so they belong to one set. */
export async function listPages(data: DataSet, organization: string, page: Page): Promise<readonly DashboardPage[]> {
  const pages = ORGANIZATION_PAGES.map((path) => ({ path: `${organization}${path}` }));
  if (data === 'empty') return [...GENERAL_PAGES, ...pages];
  if (data === 'demo') pages.push(...OPERATOR_PAGES.map((path) => ({ path: `${organization}${path}` })));
  const app = await findDetail(page, organization, FIRST_APP);
  pages.push(...APP_PAGES.map((path) => ({ path: `${app}${path}` })));
  for (const detail of DETAIL_PAGES) pages.push({ path: await findDetail(page, organization, detail) });
  return pages;
}
