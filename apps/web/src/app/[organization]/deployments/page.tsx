import type { Metadata } from 'next';
import { isDeploymentState } from '../../../common/deployment/states.ts';
import { DeploymentListPage } from '../../../features/deployment/deployment-list-page.tsx';
import { organizationPage } from '../../../server/organization-page.tsx';

export const metadata: Metadata = { title: 'Deployments' };

export default organizationPage(async ({ api, search }) => {
  const state = search('state');
  const input = isDeploymentState(state) ? { state } : {};
  await api.load(
    api.queryClient.prefetchInfiniteQuery(
      api.trpc.deployment.list.infiniteQueryOptions(input, { getNextPageParam: (page) => page.nextCursor }),
    ),
  );
  return <DeploymentListPage />;
});
