import { isDeploymentState } from '../../../../../common/deployment/states.ts';
import { AppDeploymentsPage } from '../../../../../features/deployment/deployment-list-page.tsx';
import { appPage } from '../../../../../server/app-page.tsx';

export default appPage(async ({ api, search, slug, app, placement }) => {
  const state = search('state');
  const input = { ...placement, ...(isDeploymentState(state) ? { state } : {}) };
  await api.load(
    api.queryClient.prefetchInfiniteQuery(
      api.trpc.deployment.list.infiniteQueryOptions(input, { getNextPageParam: (page) => page.nextCursor }),
    ),
  );
  return <AppDeploymentsPage slug={slug} initial={app} />;
});
