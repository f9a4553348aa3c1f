import type { Metadata } from 'next';
import { BenchmarkListPage } from '../../../features/benchmark/benchmark-list-page.tsx';
import { runInput } from '../../../features/benchmark/run-filter.ts';
import { organizationPage } from '../../../server/organization-page.tsx';

export const metadata: Metadata = { title: 'Benchmarks' };

export default organizationPage(async ({ api, search }) => {
  const { queryClient, trpc } = api;
  await api.load(
    queryClient.prefetchQuery(trpc.benchmark.listFilters.queryOptions()),
    queryClient.prefetchQuery(trpc.server.list.queryOptions()),
    queryClient.prefetchInfiniteQuery(
      trpc.benchmark.list.infiniteQueryOptions(runInput(search), { getNextPageParam: (page) => page.nextCursor }),
    ),
  );
  return <BenchmarkListPage />;
});
