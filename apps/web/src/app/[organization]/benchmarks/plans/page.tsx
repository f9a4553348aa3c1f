import type { Metadata } from 'next';
import { PlanListPage } from '../../../../features/benchmark/plan-list-page.tsx';
import { organizationPage } from '../../../../server/organization-page.tsx';

export const metadata: Metadata = { title: 'Benchmark plans' };

export default organizationPage(async ({ api }) => {
  await api.load(
    api.queryClient.prefetchInfiniteQuery(
      api.trpc.benchmarkPlan.list.infiniteQueryOptions({}, { getNextPageParam: (page) => page.nextCursor }),
    ),
  );
  return <PlanListPage />;
});
