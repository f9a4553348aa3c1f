// Lists domains, page by page.
import { type CountedPage, type Ctx, toPage } from '../kernel/index.ts';
import { type Reach, wholeReach } from '../role/index.ts';
import type { AppLinks } from './domain-url.ts';
import { domainLabel } from './rules.ts';
import type { DomainView, ListDomainsInput } from './schema.ts';
import { countDomains, loadDomains } from './store.ts';

/** Lists domains by host, then path. The cursor is both. */
export async function listDomains(
  ctx: Ctx,
  input: ListDomainsInput,
  links: AppLinks,
  reach: Reach = wholeReach,
): Promise<CountedPage<DomainView>> {
  const { search, cursor, limit } = input;
  const rows = await loadDomains(ctx, { reach, search, after: cursor, limit: limit + 1 }, links);
  const page = toPage(rows, limit, domainLabel, (row) => row);
  return { ...page, total: cursor ? null : await countDomains(ctx, { reach, search }) };
}
