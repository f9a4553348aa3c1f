import type { Metadata } from 'next';
import { AppListPage } from '../../../features/app/app-list-page.tsx';
import { DeletedAppsPage } from '../../../features/app/deleted-apps-page.tsx';
import { appInput } from '../../../features/app/filter.ts';
import { organizationPage } from '../../../server/organization-page.tsx';

export const metadata: Metadata = { title: 'Apps' };

export default organizationPage(async ({ api, search }) => {
  const { queryClient, trpc } = api;
  if (search('view') === 'deleted') {
    await api.load(queryClient.prefetchQuery(trpc.app.listDeleted.queryOptions()));
    return <DeletedAppsPage />;
  }
  await api.load(
    queryClient.prefetchQuery(trpc.project.list.queryOptions()),
    queryClient.prefetchQuery(trpc.environment.list.queryOptions()),
    queryClient.prefetchQuery(trpc.server.list.queryOptions()),
    queryClient.prefetchInfiniteQuery(
      trpc.app.list.infiniteQueryOptions(appInput(search), { getNextPageParam: (page) => page.nextCursor }),
    ),
  );
  return <AppListPage />;
});
