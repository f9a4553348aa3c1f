import type { Metadata } from 'next';
import { serverInput } from '../../../features/server/filter.ts';
import { ServerListPage } from '../../../features/server/server-list-page.tsx';
import { organizationPage } from '../../../server/organization-page.tsx';

export const metadata: Metadata = { title: 'Servers' };

export default organizationPage(async ({ api, search }) => {
  const { queryClient, trpc } = api;
  await api.load(
    queryClient.prefetchQuery(trpc.project.list.queryOptions()),
    queryClient.prefetchInfiniteQuery(
      trpc.server.list.infiniteQueryOptions(serverInput(search), { getNextPageParam: (page) => page.nextCursor }),
    ),
    queryClient.prefetchQuery(trpc.agentRollout.get.queryOptions()),
  );
  return <ServerListPage />;
});
