import type { Metadata } from 'next';
import { BenchmarkListPage } from '../../../features/benchmark/benchmark-list-page.tsx';
import { organizationPage } from '../../../server/organization-page.tsx';

export const metadata: Metadata = { title: 'Benchmarks' };

export default organizationPage(async ({ api }) => {
  await api.load(
    api.queryClient.prefetchInfiniteQuery(
      api.trpc.benchmark.list.infiniteQueryOptions({}, { getNextPageParam: (page) => page.nextCursor }),
    ),
  );
  return <BenchmarkListPage />;
});
