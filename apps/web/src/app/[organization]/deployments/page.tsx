import type { Metadata } from 'next';
import { DeploymentListPage } from '../../../features/deployment/deployment-list-page.tsx';
import { deploymentInput } from '../../../features/deployment/filter.ts';
import { organizationPage } from '../../../server/organization-page.tsx';

export const metadata: Metadata = { title: 'Deployments' };

export default organizationPage(async ({ api, search, timeZone }) => {
  const input = deploymentInput(search, await timeZone());
  const { queryClient, trpc } = api;
  await api.load(
    queryClient.prefetchQuery(trpc.project.list.queryOptions()),
    queryClient.prefetchQuery(trpc.environment.list.queryOptions()),
    queryClient.prefetchQuery(trpc.server.list.queryOptions()),
    queryClient.prefetchQuery(trpc.deployment.listFilters.queryOptions()),
    queryClient.prefetchInfiniteQuery(
      trpc.deployment.list.infiniteQueryOptions(input, {
        getNextPageParam: (page) => page.nextCursor,
      }),
    ),
  );
  return <DeploymentListPage />;
});
