import type { Metadata } from 'next';
import { AppDeploymentsPage } from '../../../../../features/deployment/app-deployments-page.tsx';
import { deploymentInput } from '../../../../../features/deployment/filter.ts';
import { releaseLimit } from '../../../../../features/deployment/releases-of-rows.ts';
import { appPage } from '../../../../../server/app-page.tsx';

export const metadata: Metadata = { title: 'Deployments' };

/** The page is about one app in one environment. */
const FILTERS: ReadonlySet<string> = new Set(['search', 'state', 'branch', 'author', 'from', 'to', 'order']);

export default appPage(async ({ api, search, timeZone, slug, app, placement }) => {
  const filters = deploymentInput((name) => (FILTERS.has(name) ? search(name) : ''), await timeZone());
  const input = { ...filters, ...placement };
  await api.load(
    api.queryClient.prefetchQuery(api.trpc.deployment.listFilters.queryOptions()),
    api.queryClient.prefetchInfiniteQuery(
      api.trpc.deployment.list.infiniteQueryOptions(input, { getNextPageParam: (page) => page.nextCursor }),
    ),
    api.queryClient.prefetchQuery(api.trpc.release.list.queryOptions({ ...placement, limit: releaseLimit })),
  );
  return <AppDeploymentsPage slug={slug} initial={app} />;
});
